# A net made at random, of seed 107: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.cat((a, x), -1)
        a1 = a0.reshape(-1, 2, 16 // 2).transpose(1, 2).reshape(-1, 16)
        a2 = self.m0(a1)
        return a2


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 16)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.where(x > a, x, a)
        a0 = torch.stack((a0, x)).mean(0)
        a0 = a0 + a
        del a
        return a0


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.m0 = nn.RMSNorm(16)
        self.m1 = nn.Linear(16, 6, bias=False)
        self.m2 = nn.Threshold(0.1, 0.2)
        self.m3 = nn.Mish()

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = self.m1(a)
        a0 = x * x
        a0 = torch.softmax(a0, -1)
        a1 = self.m2(a)
        a2 = self.m3(a1)
        return a2 + a0.mean()


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.m0 = nn.Threshold(0.1, 0.2)
        self.m1 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = a.clamp(-1.0, 1.0)
        a1 = a0 * x
        del a0
        a1 = self.m0(a1)
        a2 = torch.where(a1 > x, a1, x)
        a2 = self.m1(a2)
        a3 = a1.flip(-1)
        a4 = a3 - a3.amax(-1, keepdim=True)
        return a4 + a2.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 8)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2(), Block3())
        self.head = nn.Linear(6, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x)


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 20)
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
