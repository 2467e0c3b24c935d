# A net made at random, of seed 112: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.ReLU6()
        self.m1 = nn.Hardswish()
        self.m2 = nn.ReLU6()
        self.m3 = nn.Dropout(0.2)
        self.m4 = nn.Hardsigmoid()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a1 = a0.sin() + a0.cos()
        a1 = self.m1(a1)
        a1 = self.m2(a1)
        a2 = self.m3(x)
        a3 = self.m4(a2)
        a3 = a3.add_(a1)
        del a
        return a3


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.SiLU()
        self.m1 = nn.ReLU()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = self.m1(a0)
        a0 = F.hardshrink(a0)
        a0 = a0.cumsum(-1)
        return a0


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.Dropout(0.2)

    def forward(self, x):
        a = self.first(x)
        a = torch.log(a.abs() + 1.0)
        a0 = a - a.mean(-1, keepdim=True)
        a1 = F.logsigmoid(a0)
        a2 = -a1
        a3 = self.m0(a0)
        a3 = torch.erf(a3)
        return a3 + a2.mean()


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.Linear(8, 10, bias=False)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a1 = a0.clamp_(-2.0, 2.0)
        a2 = a1 / (a1.std(-1, keepdim=True) + 0.1)
        a3 = torch.lerp(a2, a1, 0.3)
        return a3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 8)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2(), Block3())
        self.head = nn.Linear(10, 10)

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
