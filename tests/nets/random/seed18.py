# A net made at random, of seed 18: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)
        self.m0 = nn.Threshold(0.1, 0.2)
        self.m1 = nn.SiLU()
        self.m2 = nn.Dropout(0.2)
        self.m3 = nn.AvgPool2d(2)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = self.m1(x)
        a1 = self.m2(a0)
        a2 = self.m3(x)
        return a2 + a.mean() + a1.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)
        self.m0 = nn.Dropout2d(0.2)
        self.m1 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a = torch.rsqrt(a.abs() + 0.5)
        a = torch.sigmoid(a)
        a0 = self.m0(a)
        del x
        a0 = F.normalize(a0, dim=-1)
        a0 = F.hardshrink(a0)
        a = self.m1(a)
        a1 = torch.erf(a0)
        return a1 + a.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)
        self.m0 = nn.Hardsigmoid()
        self.m1 = nn.Conv2d(16, 6, 1, bias=False)

    def forward(self, x):
        a = self.first(x)
        a0 = x ** 2
        a0 = a0 * x
        a1 = a0.clamp(-1.0, 1.0)
        del x
        a1 = a1 * a
        a1 = torch.cat((a1, a0), 1)
        a1 = self.m0(a1)
        a1 = self.m1(a1)
        return a1


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(6, 6, 1)
        self.m0 = nn.SiLU()
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.Dropout2d(0.2)
        self.m3 = nn.ConvTranspose2d(6, 6, 2, stride=2)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = self.m1(a)
        a = self.m2(a)
        a0 = self.m3(a)
        return a0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2(), Block3())
        self.head = nn.Linear(6, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.amax((2, 3)))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
