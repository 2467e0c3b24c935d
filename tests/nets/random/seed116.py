# A net made at random, of seed 116: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.SiLU()
        self.m1 = nn.BatchNorm1d(4)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a1 = self.m1(a)
        return a1 + a0.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Hardsigmoid()
        self.m1 = nn.BatchNorm1d(4)
        self.m2 = nn.ReLU()

    def forward(self, x):
        a = self.first(x)
        a0 = a.detach() * 0.5 + a
        del x
        a0 = self.m0(a0)
        a0 = F.hardshrink(a0)
        a1 = a0 / (a.abs() + 1.0)
        del a0
        a1 = self.m1(a1)
        a1 = self.m2(a1)
        return a1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 4)
        self.blocks = nn.ModuleList([Block0(), Block1()])
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
