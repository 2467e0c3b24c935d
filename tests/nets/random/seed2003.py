# A net made at random, of seed 2003: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.RMSNorm(4)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(x)
        a0 = torch.rsqrt(a0.abs() + 0.5)
        del x
        a0 = torch.addcmul(a0, a, a0, value=0.1)
        return a0


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.ReLU()

    def forward(self, x):
        a = self.first(x)
        a0 = torch.maximum(a, x)
        a0 = a0.transpose(1, 2).contiguous().transpose(1, 2)
        x = self.m0(x)
        return a0 + x.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 4)
        self.blocks = nn.ModuleList([Block0(), Block1()])
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.sum(1) * 0.1)


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 5))
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
