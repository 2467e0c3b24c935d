# A net made at random, of seed 10: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.PReLU()

    def forward(self, x):
        a = self.first(x)
        x = x.tanh_()
        a0 = F.gelu(x, approximate="tanh")
        a1 = F.logsigmoid(a0)
        a2 = self.m0(a0)
        return a2 + a.mean() + a1.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.LeakyReLU(0.1)
        self.m1 = nn.Hardswish()

    def forward(self, x):
        a = self.first(x)
        a = torch.stack((a, x)).mean(0)
        a0 = torch.cat((a, x), -1)
        a1 = self.m0(a0)
        a2 = torch.where(a1 > a0, a1, a0)
        a3 = self.m1(a0)
        a4 = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        a4 = torch.stack((a4, x)).mean(0)
        return a4 + a2.mean() + a3.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a = F.softplus(a)
        a0 = torch.lerp(a, x, 0.3)
        a0 = a0 - x
        del a
        a0 = a0 * x
        a1 = torch.cat((a0[:, 1:], a0[:, :1]), 1)
        a2 = self.m0(a0)
        x = x - a1
        return a2 + x.mean()


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.Dropout(0.2)
        self.m1 = nn.Dropout(0.2)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = torch.where(a > x, a, x)
        a1 = self.m1(x)
        a2 = a1.add_(a)
        return a2 + a0.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 8)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2(), Block3()])
        self.head = nn.Linear(8, 10)

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
