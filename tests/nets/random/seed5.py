# A net made at random, of seed 5: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)

    def forward(self, x):
        a = self.first(x)
        x = F.gelu(x)
        a = F.relu(a, inplace=True)
        return a + x.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.BatchNorm1d(12)
        self.m1 = nn.Linear(12, 12, bias=False)
        self.m2 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a = a - a.amax(-1, keepdim=True)
        a0 = self.m0(a)
        a0 = self.m1(a0)
        a1 = a0.masked_fill(a0 > 0.5, 0.0)
        a1 = F.relu(a1)
        a2 = F.logsigmoid(a1)
        a2 = self.m2(a2)
        return a2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 12)
        self.blocks = nn.ModuleList([Block0(), Block1()])
        self.head = nn.Linear(12, 10)

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
