# A net made at random, of seed 20: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)
        self.m0 = nn.Hardsigmoid()
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.Conv2d(12, 10, 3, padding=1)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.erf(a)
        a0 = self.m0(a0)
        a0 = self.m1(a0)
        a = self.m2(a)
        return a0 + a.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)
        self.m0 = nn.Dropout(0.2)
        self.m1 = nn.SiLU()
        self.m2 = nn.ReLU6()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(x)
        a1 = torch.stack((a0, a)).mean(0)
        a1 = F.interpolate(a1, scale_factor=2.0, mode="bilinear", align_corners=False)
        a1 = self.m1(a1)
        a = F.relu(a)
        a1 = self.m2(a1)
        return a1 + a.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)
        self.m0 = nn.ReLU()
        self.m1 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a = a * x
        a0 = a + x
        x = self.m0(x)
        a0 = self.m1(a0)
        del a
        a0 = torch.cat((a0, x), 1)
        return a0


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(24, 24, 1)
        self.m0 = nn.BatchNorm2d(24)
        self.m1 = nn.GroupNorm(2, 24)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.exp(-a.abs())
        a0 = self.m0(a0)
        a0 = a0.clamp_(-2.0, 2.0)
        a0 = a0 * x
        del x
        a0 = self.m1(a0)
        return a0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 3, padding=1)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2(), Block3()])
        self.head = nn.Linear(24, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
