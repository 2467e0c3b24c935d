# A net made at random, of seed 118: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Linear(4, 12)
        self.m1 = nn.Dropout(0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        del x
        a1 = a0.clamp(min=-0.5)
        a1 = self.m1(a1)
        return a1


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.Hardtanh()
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.Hardsigmoid()

    def forward(self, x):
        a = self.first(x)
        a0 = x.clamp_(-2.0, 2.0)
        a0 = self.m0(a0)
        a0 = 1.0 - a0
        a0 = self.m1(a0)
        a1 = F.softsign(a0)
        a2 = torch.softmax(a1 @ a1.transpose(1, 2) * 0.3, -1) @ a1
        del a1
        x = self.m2(x)
        return a2 + x.mean() + a.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.atan(a)
        a1 = torch.softmax(a0, -1)
        return a1


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.Mish()

    def forward(self, x):
        a = self.first(x)
        a = a.abs()
        a = self.m0(a)
        a0 = a * x
        a1 = a0.transpose(1, 2).contiguous().transpose(1, 2)
        a = torch.sigmoid(a)
        a2 = a1 / (x.abs() + 1.0)
        return a2 + a.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 4)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2(), Block3())
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.mean(1))


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 5))
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
