# A net made at random, of seed 121: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Hardswish()
        self.m1 = nn.AvgPool2d(2)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = self.m1(a)
        del a
        return a0


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        a = self.first(x)
        a = F.gelu(a, approximate="tanh")
        a0 = a / (x.abs() + 1.0)
        return a0


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.m1 = nn.PReLU(4)

    def forward(self, x):
        a = self.first(x)
        a0 = a.flip(-1)
        a1 = a0.flip(-1)
        del a0
        a1 = self.m0(a1)
        a1 = self.m1(a1)
        del x
        a1 = F.interpolate(a1, scale_factor=2.0, mode="bilinear", align_corners=False)
        return a1


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = a.clamp(-1.0, 1.0)
        a1 = self.m0(a0)
        a2 = a0 / (a0.abs() + 1.0)
        return a2 + a1.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2(), Block3())
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
