# A net made at random, of seed 101: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.ReLU6()
        self.m1 = nn.Hardswish()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = 1.0 - a0
        a0 = F.hardshrink(a0)
        a1 = torch.maximum(a0, x)
        x = F.gelu(x)
        a1 = self.m1(a1)
        a2 = torch.lerp(a1, x, 0.3)
        return a2


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = F.elu(a)
        a0 = a / (a.std(-1, keepdim=True) + 0.1)
        a1 = torch.softmax(a0, -1)
        a2 = a1 / (a1.abs() + 1.0)
        return a2


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        a0 = F.normalize(a, dim=-1)
        a1 = torch.maximum(a0, a)
        a2 = F.gelu(a1, approximate="tanh")
        return a2


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        a = a - x
        a0 = a.clamp(-1.0, 1.0)
        return a0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 4)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2(), Block3()])
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.sum(1) * 0.1)


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 7))
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
