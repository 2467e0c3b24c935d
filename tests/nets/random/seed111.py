# A net made at random, of seed 111: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = a * x
        a1 = self.m0(a0)
        a1 = a1.cumsum(-1)
        return a1


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = torch.softmax(a, -1)
        x = x * a
        a1 = a.tanh_()
        a0 = self.m0(a0)
        return a1 + x.mean() + a0.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1())
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.amax((2, 3)))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
