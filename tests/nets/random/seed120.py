# A net made at random, of seed 120: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.log(a.abs() + 1.0)
        a1 = a0.clamp(min=-0.5)
        del a
        a1 = a1 / (x.abs() + 1.0)
        a2 = a1.masked_fill(a1 > 0.5, 0.0)
        return a2


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)
        self.m0 = nn.SiLU()
        self.m1 = nn.Dropout2d(0.2)

    def forward(self, x):
        a = self.first(x)
        a = a.chunk(2, 1)[0] * a.chunk(2, 1)[1].sigmoid()
        a0 = self.m0(a)
        a1 = torch.stack((a, a0)).mean(0)
        a2 = self.m1(a1)
        a2 = a2 - torch.logsumexp(a2, 1, keepdim=True)
        a2 = a2.flip(-1)
        a = F.softsign(a)
        return a2 + a.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(6, 6, 1)
        self.m0 = nn.Conv2d(6, 6, 3, padding=1, groups=6)
        self.m1 = nn.SiLU()
        self.m2 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a1 = self.m1(a0)
        a2 = a1 - x
        del a
        a1 = self.m2(a1)
        return a2 + a1.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 3, padding=1)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2()])
        self.head = nn.Linear(6, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.amax((2, 3)))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
