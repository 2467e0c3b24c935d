# A net made at random, of seed 19: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Hardswish()
        self.m1 = nn.RMSNorm(4)
        self.m2 = nn.Linear(4, 6, bias=False)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = torch.where(a0 > x, a0, x)
        a1 = self.m1(a0)
        a2 = a1 - x
        a1 = self.m2(a1)
        a2 = torch.maximum(a2, x)
        return a2 + a1.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.ReLU6()
        self.m1 = nn.RMSNorm(4)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = torch.einsum("btd,bsd->bts", a, x).softmax(-1) @ x
        x = self.m1(x)
        a1 = torch.log(x.abs() + 1.0)
        a0 = F.log_softmax(a0, 1)
        a0 = a0.detach() * 0.5 + a0
        a2 = torch.sort(a1, dim=-1)[0]
        return a2 + a0.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.addcmul(a, x, a, value=0.1)
        del x
        a1 = torch.einsum("btd,bsd->bts", a0, a).softmax(-1) @ a
        a = F.relu(a)
        a1 = a1 / (a.abs() + 1.0)
        return a1


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        a = a + x
        a = a.clamp_(-2.0, 2.0)
        x = torch.where(x > a, x, a)
        a0 = torch.addcmul(a, x, a, value=0.1)
        a0 = a0 - a0.amax(-1, keepdim=True)
        return a0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 4)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2(), Block3())
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.mean(1))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 6, 20)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
