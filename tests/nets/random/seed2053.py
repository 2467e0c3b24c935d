# A net made at random, of seed 2053: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)

    def forward(self, x):
        a = self.first(x)
        a0 = F.elu(a)
        a0 = F.hardshrink(a0)
        a1 = a0 - a0.mean(-1, keepdim=True)
        return a1


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.RMSNorm(12)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.maximum(a, x)
        a1 = self.m0(a)
        return a1 + a0.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.Dropout(0.2)
        self.m1 = nn.ReLU6()
        self.m2 = nn.LayerNorm(12)
        self.m3 = nn.Dropout(0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = a0.cumsum(-1)
        a0 = self.m1(a0)
        x = self.m2(x)
        a1 = torch.sqrt(a0.abs() + 0.5)
        a1 = self.m3(a1)
        return a1 + x.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 12)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
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
