# A net made at random, of seed 126: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.ReLU6()
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.SiLU()
        self.m3 = nn.Dropout(0.2)
        self.m4 = nn.Hardsigmoid()
        self.m5 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = self.m1(a)
        a = self.m2(a)
        a0 = torch.where(a > x, a, x)
        a1 = self.m3(a0)
        a2 = self.m4(a1)
        a2 = self.m5(a2)
        return a2


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        x = torch.atan(x)
        a0 = torch.log1p(x.abs())
        a1 = a0 * x
        return a1 + a.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Hardsigmoid()

    def forward(self, x):
        a = self.first(x)
        a = a * 0.5
        a = torch.stack((a, x)).mean(0)
        a0 = self.m0(a)
        a1 = torch.cat((a0, x), -1)
        return a1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 4)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.mean(1))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 5, 20)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
