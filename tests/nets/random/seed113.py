# A net made at random, of seed 113: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        a = torch.atan(a)
        a = a - a.mean(-1, keepdim=True)
        return a


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.ReLU()
        self.m1 = nn.RMSNorm(4)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = torch.addcmul(a, x, a, value=0.1)
        a = a.clamp_(-2.0, 2.0)
        a0 = a - x
        del x
        a0 = self.m1(a0)
        a0 = torch.erf(a0)
        return a0


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.cat((a, x), -1)
        a1 = torch.rsqrt(a.abs() + 0.5)
        a2 = torch.einsum("btd,bsd->bts", a1, x).softmax(-1) @ x
        a2 = a2.masked_fill(a2 > 0.5, 0.0)
        a2 = torch.softmax(a2 @ a2.transpose(1, 2) * 0.3, -1) @ a2
        a3 = torch.stack((a2, a1)).mean(0)
        return a3 + a0.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 4)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2()])
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.sum(1) * 0.1)


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 6))
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
