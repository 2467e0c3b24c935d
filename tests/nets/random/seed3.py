# A net made at random, of seed 3: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.ReLU()
        self.m1 = nn.Linear(12, 6, bias=False)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(x)
        a0 = self.m1(a0)
        return a0 + a.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.where(a > x, a, x)
        a0 = torch.maximum(a0, x)
        a1 = a0.transpose(1, 2).contiguous().transpose(1, 2)
        del a
        return a1


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.m0 = nn.Threshold(0.1, 0.2)
        self.m1 = nn.ReLU6()

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = self.m1(a)
        return a


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 12)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
        self.head = nn.Linear(6, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.sum(1) * 0.1)


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 6))
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
