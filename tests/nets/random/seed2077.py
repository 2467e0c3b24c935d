# A net made at random, of seed 2077: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Conv2d(4, 12, 1, bias=False)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = F.glu(a0, 1)
        a0 = torch.stack((a0, a0)).mean(0)
        a1 = a0.transpose(2, 3)
        a2 = a1 / (a1.abs() + 1.0)
        a3 = torch.addcmul(a2, a1, a2, value=0.1)
        a4 = F.gelu(a3, approximate="tanh")
        return a4


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(6, 6, 1)
        self.m0 = nn.Hardswish()
        self.m1 = nn.GroupNorm(2, 6)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a1 = self.m1(x)
        del a
        return a1 + a0.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(6, 6, 1)
        self.m0 = nn.Mish()
        self.m1 = nn.Threshold(0.1, 0.2)
        self.m2 = nn.AvgPool2d(2)

    def forward(self, x):
        a = self.first(x)
        a0 = a * torch.sigmoid(a.mean((2, 3), keepdim=True))
        a0 = self.m0(a0)
        a1 = a.detach() * 0.5 + a
        a1 = self.m1(a1)
        a1 = a1.cumsum(-1)
        a1 = a1.transpose(2, 3)
        a2 = self.m2(a1)
        return a2 + a0.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
        self.head = nn.Linear(6, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
