# A net made at random, of seed 3033: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def grow(x):
    return torch.tanh(x * 2.0) + x


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.LeakyReLU(0.1)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = torch.where(a > x, a, x)
        return a


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = a0 + x.detach() * 0.5
        del x
        a1 = torch.stack((a0, a)).mean(0)
        del a
        a2 = torch.addcdiv(a0, a1, a0.abs() + 1.0, value=0.2)
        a3 = checkpoint(grow, a2, use_reentrant=True)
        return a3


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.Hardswish()
        self.m1 = nn.RMSNorm(12)
        self.m2 = nn.BatchNorm1d(12)
        self.m3 = nn.Threshold(0.1, 0.2)
        self.m4 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a1 = a0 / (x.abs() + 1.0)
        a1 = self.m1(a1)
        a2 = self.m2(a1.transpose(1, 2)).transpose(1, 2)
        a3 = self.m3(a2)
        a4 = self.m4(a3)
        del a0
        return a4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 12)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.mean(1))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 8, 20)
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.huber_loss(output, F.one_hot(target, 10).to(output.dtype)) + F.l1_loss(output, output.detach() * 0.5)


defaults = dict(batch=4, steps=3)
