# A net made at random, of seed 108: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.erf(a)
        a1 = torch.sigmoid(a0)
        a2 = a1 * x
        return a2


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.SiLU()
        self.m1 = nn.Mish()
        self.m2 = nn.LeakyReLU(0.1)
        self.m3 = nn.Dropout(0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = a0 / (a.abs() + 1.0)
        a1 = self.m1(x)
        del a
        a1 = self.m2(a1)
        a2 = F.gelu(x)
        del x
        a3 = a2.tanh_()
        a3 = self.m3(a3)
        del a2
        return a3 + a0.mean() + a1.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.sqrt(x.abs() + 0.5)
        a0 = a0 / (x.abs() + 1.0)
        a0 = a0.mul_(0.9)
        a = a - a.amax(-1, keepdim=True)
        a0 = torch.softmax(a0, -1)
        return a0 + a.mean()


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.SiLU()
        self.m1 = nn.ReLU6()

    def forward(self, x):
        a = self.first(x)
        a = a + x
        a = self.m0(a)
        a = self.m1(a)
        return a


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 12)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2(), Block3()])
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 5, 20)
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
