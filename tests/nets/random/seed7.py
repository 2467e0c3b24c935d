# A net made at random, of seed 7: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.maximum(a, x)
        a0 = torch.where(a0 > a, a0, a)
        return a0


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        a = a.clamp(-1.0, 1.0)
        a = a ** 2
        return a


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Hardsigmoid()
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.RMSNorm(4)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.rsqrt(a.abs() + 0.5)
        a1 = self.m0(a0)
        a1 = a1.clamp(-1.0, 1.0)
        a2 = self.m1(a1)
        a3 = F.relu(a)
        a4 = self.m2(a3)
        return a4 + a2.mean()


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        a0 = a + x
        a1 = torch.rsqrt(a0.abs() + 0.5)
        del a
        return a1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 4)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2(), Block3()])
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 20)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
