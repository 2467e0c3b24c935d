# A net made at random, of seed 122: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)
        self.m0 = nn.SiLU()
        self.m1 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(x)
        a0 = torch.sigmoid(a0)
        a0 = F.log_softmax(a0, 1)
        a0 = torch.log1p(a0.abs())
        a0 = F.log_softmax(a0, 1)
        a0 = self.m1(a0)
        a = torch.erf(a)
        return a0 + a.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)
        self.m0 = nn.Dropout2d(0.2)
        self.m1 = nn.Threshold(0.1, 0.2)
        self.m2 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        x = F.dropout(x, 0.25, self.training)
        a = F.relu(a, inplace=True)
        a = self.m0(a)
        x = torch.lerp(x, a, 0.3)
        a = self.m1(a)
        a = self.m2(a)
        return a + x.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)
        self.m0 = nn.Dropout2d(0.2)
        self.m1 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a = a - x
        a = F.hardshrink(a)
        a0 = self.m0(a)
        del a
        a0 = a0 - a0.mean(-1, keepdim=True)
        a0 = self.m1(a0)
        a1 = a0 + x
        a1 = torch.exp(-a1.abs())
        return a1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.flatten(2).sum(2) * 0.1)


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
