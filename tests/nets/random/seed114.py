# A net made at random, of seed 114: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.LeakyReLU(0.1)
        self.m1 = nn.Hardswish()
        self.m2 = nn.Mish()

    def forward(self, x):
        a = self.first(x)
        a = a.masked_fill(a > 0.5, 0.0)
        x = self.m0(x)
        a = a + x
        a = a ** 2
        a0 = self.m1(a)
        a0 = self.m2(a0)
        a0 = torch.sort(a0, dim=-1)[0]
        return a0


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = torch.rsqrt(a0.abs() + 0.5)
        a = F.gelu(a)
        a1 = torch.cat((a0[:, 1:], a0[:, :1]), 1)
        return a1 + a.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)

    def forward(self, x):
        a = self.first(x)
        a0 = a.mul_(0.9)
        a0 = torch.lerp(a0, a, 0.3)
        return a0


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)

    def forward(self, x):
        a = self.first(x)
        a0 = F.logsigmoid(a)
        a0 = F.relu(a0)
        return a0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 12)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2(), Block3()])
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, -1])


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 8))
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
