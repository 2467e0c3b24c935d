# A net made at random, of seed 109: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Mish()
        self.m1 = nn.LeakyReLU(0.1)

    def forward(self, x):
        a = self.first(x)
        a0 = a - a.mean(-1, keepdim=True)
        a0 = torch.where(a0 > x, a0, x)
        a1 = self.m0(a0)
        a2 = F.avg_pool2d(a1, 3, 1, 1)
        a2 = self.m1(a2)
        return a2


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.where(a > x, a, x)
        a0 = F.softsign(a0)
        del a
        a0 = torch.addcmul(a0, x, a0, value=0.1)
        a1 = torch.erf(a0)
        del a0
        a2 = torch.lerp(a1, x, 0.3)
        a3 = a2.flip(-1)
        return a3


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = a.detach() * 0.5 + a
        a1 = self.m0(a0)
        a2 = F.pad(a1, (1, 0, 0, 1))[:, :, 1:, :-1]
        return a2


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Hardtanh()
        self.m1 = nn.Dropout(0.2)
        self.m2 = nn.ReLU6()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = a0 * torch.sigmoid(a0.mean((2, 3), keepdim=True))
        a1 = torch.cat((a0, x), 1)
        del x
        a1 = self.m1(a1)
        del a
        a2 = self.m2(a1)
        return a2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2(), Block3())
        self.head = nn.Linear(8, 10)

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
