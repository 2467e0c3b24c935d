# A net made at random, of seed 2066: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(12, 12, 1)
        self.m0 = nn.LeakyReLU(0.1)
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.Conv2d(12, 10, 3, padding=1)

    def forward(self, x):
        a = self.first(x)
        a0 = a + x
        del a
        a0 = a0[:, :, ::2, ::2]
        a1 = torch.where(a0 > a0, a0, a0)
        a1 = self.m0(a1)
        a1 = self.m1(a1)
        del a0
        a1 = self.m2(a1)
        return a1


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(10, 10, 1)
        self.m0 = nn.Dropout(0.2)
        self.m1 = nn.Conv2d(10, 10, 3, padding=1, groups=10)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.sort(a, dim=-1)[0]
        a0 = a0.clamp(-1.0, 1.0)
        a0 = self.m0(a0)
        a0 = a0 - x
        a1 = self.m1(a0)
        return a1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1())
        self.head = nn.Linear(10, 10)

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
