# A net made at random, of seed 115: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Dropout(0.2)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = F.softplus(a)
        return a0


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        a = self.first(x)
        a = a / (x.abs() + 1.0)
        a = F.hardshrink(a)
        a0 = a.flip(-1)
        del x
        a1 = torch.maximum(a0, a)
        return a1


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Dropout(0.2)
        self.m1 = nn.Mish()
        self.m2 = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.m3 = nn.Dropout(0.2)
        self.m4 = nn.PReLU(4)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = self.m1(a)
        a0 = F.relu(x)
        a0 = self.m2(a0)
        a1 = self.m3(a0)
        a2 = self.m4(a1)
        x = torch.maximum(x, a)
        return a2 + x.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
