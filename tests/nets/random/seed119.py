# A net made at random, of seed 119: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Hardsigmoid()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(x)
        a1 = torch.atan(a0)
        a1 = a1 - a1.amax(-1, keepdim=True)
        return a1 + a.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Threshold(0.1, 0.2)
        self.m1 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = a * x
        a = self.m1(a)
        return a


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 4)
        self.blocks = nn.ModuleList([Block0(), Block1()])
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
