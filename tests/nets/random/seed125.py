# A net made at random, of seed 125: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)
        self.m0 = nn.Conv2d(12, 4, 3, padding=1)
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.Dropout(0.2)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = torch.sigmoid(a)
        del x
        a1 = a0 + a
        a2 = self.m1(a)
        a1 = self.m2(a1)
        a2 = torch.lerp(a2, a1, 0.3)
        del a1
        a2 = torch.where(a2 > 0.0, a2, a2 * 0.1)
        return a2


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Conv2d(4, 4, 3, padding=1, groups=4)

    def forward(self, x):
        a = self.first(x)
        a0 = F.log_softmax(a, 1)
        del x
        a0 = a0.mul_(0.9)
        a0 = self.m0(a0)
        a = F.normalize(a, dim=-1)
        return a0 + a.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1())
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.amax((2, 3)))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
