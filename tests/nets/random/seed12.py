# A net made at random, of seed 12: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.LeakyReLU(0.1)
        self.m1 = nn.Dropout(0.2)

    def forward(self, x):
        a = self.first(x)
        x = self.m0(x)
        a = torch.addcmul(a, x, a, value=0.1)
        a = torch.cat((a, x), -1)
        a = self.m1(a)
        a0 = a - torch.logsumexp(a, 1, keepdim=True)
        return a0


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 24)
        self.m0 = nn.Mish()

    def forward(self, x):
        a = self.first(x)
        a0 = a.mul_(0.9)
        a1 = self.m0(a0)
        return a1


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 24)
        self.m0 = nn.Hardsigmoid()
        self.m1 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a1 = a0 - a
        a2 = self.m1(a1)
        a3 = x.mul_(0.9)
        a4 = a3.reshape(-1, 2, 24 // 2).transpose(1, 2).reshape(-1, 24)
        a4 = torch.lerp(a4, a2, 0.3)
        return a4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 12)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2()])
        self.head = nn.Linear(24, 10)

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
