# A net made at random, of seed 2: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)

    def forward(self, x):
        a = self.first(x)
        a0 = F.log_softmax(a, 1)
        del x
        a1 = torch.erf(a0)
        return a1


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)

    def forward(self, x):
        a = self.first(x)
        a0 = a.transpose(1, 2).contiguous().transpose(1, 2)
        a1 = a0 / (a.abs() + 1.0)
        a = torch.einsum("btd,bsd->bts", a, a0).softmax(-1) @ a0
        a2 = F.gelu(a1, approximate="tanh")
        return a2 + a.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.Mish()

    def forward(self, x):
        a = self.first(x)
        a0 = a / (x.abs() + 1.0)
        del x
        a1 = a0 / (a.abs() + 1.0)
        del a0
        a1 = self.m0(a1)
        a2 = F.normalize(a1, dim=-1)
        a3 = torch.where(a2 > a1, a2, a1)
        return a3


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)

    def forward(self, x):
        a = self.first(x)
        x = x / (x.std(-1, keepdim=True) + 0.1)
        a = torch.where(a > x, a, x)
        return a


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 8)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2(), Block3())
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.mean(1))


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 8))
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
