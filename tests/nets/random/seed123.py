# A net made at random, of seed 123: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.ReLU()
        self.m1 = nn.ReLU()

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = a.tanh_()
        a = self.m1(a)
        a0 = a ** 2
        del x
        a0 = torch.cat((a0, a), -1)
        return a0


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 24)
        self.m0 = nn.LeakyReLU(0.1)
        self.m1 = nn.LeakyReLU(0.1)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = a.tanh()
        a1 = a ** 2
        a2 = self.m1(x)
        return a2 + a0.mean() + a1.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 24)
        self.m0 = nn.LeakyReLU(0.1)
        self.m1 = nn.ReLU()

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = self.m1(a)
        a0 = a0.add_(x)
        a1 = torch.maximum(a0, a)
        del a
        return a1


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 24)
        self.m0 = nn.Linear(24, 10, bias=False)
        self.m1 = nn.Linear(24, 10, bias=False)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.addcmul(a, x, a, value=0.1)
        a = self.m0(a)
        a1 = self.m1(a0)
        a0 = a0 / (x.abs() + 1.0)
        a2 = F.gelu(a1)
        a3 = a.masked_fill(a > 0.5, 0.0)
        return a3 + a0.mean() + a2.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 12)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2(), Block3()])
        self.head = nn.Linear(10, 10)

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
