# A net made at random, of seed 1: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)

    def forward(self, x):
        a = self.first(x)
        a = torch.softmax(a @ a.transpose(1, 2) * 0.3, -1) @ a
        a = F.gelu(a, approximate="tanh")
        a = a.clamp(-1.0, 1.0)
        return a


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.Linear(8, 12)
        self.m1 = nn.ReLU6()
        self.m2 = nn.Dropout(0.2)
        self.m3 = nn.Hardswish()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        del x
        a1 = self.m1(a0)
        del a
        a2 = self.m2(a1)
        a2 = self.m3(a2)
        return a2


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.ReLU()
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.ReLU()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = F.gelu(a0)
        a1 = x.abs()
        a2 = self.m1(a1)
        a2 = self.m2(a2)
        del a1
        return a2 + a0.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 8)
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
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
