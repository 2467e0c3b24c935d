# A net made at random, of seed 102: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.BatchNorm2d(4)
        self.m3 = nn.Dropout2d(0.2)
        self.m4 = nn.PReLU(4)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.stack((x, a)).mean(0)
        a1 = self.m0(a0)
        del a0
        a1 = 1.0 - a1
        a2 = self.m1(a1)
        a3 = self.m2(a2)
        a3 = self.m3(a3)
        a3 = self.m4(a3)
        return a3


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        a = self.first(x)
        a0 = F.hardshrink(a)
        a1 = torch.lerp(a0, x, 0.3)
        a1 = torch.maximum(a1, x)
        a2 = torch.sqrt(a1.abs() + 0.5)
        return a2


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
