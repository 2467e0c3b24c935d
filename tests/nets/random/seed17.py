# A net made at random, of seed 17: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)
        self.m0 = nn.LeakyReLU(0.1)
        self.m1 = nn.ReLU6()

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = self.m1(a)
        return a


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)

    def forward(self, x):
        a = self.first(x)
        a = torch.stack((a, x)).mean(0)
        a = a.sin() + a.cos()
        a0 = torch.stack((a, x)).mean(0)
        return a0


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.where(a > x, a, x)
        del x
        a1 = torch.log(a0.abs() + 1.0)
        return a1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
