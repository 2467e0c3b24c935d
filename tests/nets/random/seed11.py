# A net made at random, of seed 11: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.exp(-x.abs())
        a0 = torch.stack((a0, x)).mean(0)
        a1 = x * 0.5
        return a1 + a.mean() + a0.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)
        self.m0 = nn.Threshold(0.1, 0.2)
        self.m1 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = torch.maximum(a, x)
        a0 = self.m0(a0)
        a1 = x / (x.std(-1, keepdim=True) + 0.1)
        a1 = self.m1(a1)
        a0 = F.logsigmoid(a0)
        x = F.softsign(x)
        return a1 + x.mean() + a0.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1())
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
