# A net made at random, of seed 106: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.PReLU()
        self.m1 = nn.BatchNorm1d(12)

    def forward(self, x):
        a = self.first(x)
        a = a + x
        a0 = x * 0.5
        a1 = self.m0(a0)
        a2 = a1.masked_fill(a1 > 0.5, 0.0)
        a2 = self.m1(a2)
        a3 = a2 / (a2.abs() + 1.0)
        return a3 + a.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.lerp(a, x, 0.3)
        a0 = 1.0 - a0
        a0 = torch.erf(a0)
        return a0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 12)
        self.blocks = nn.Sequential(Block0(), Block1())
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x)


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 20)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
