# A net made at random, of seed 6: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)
        self.m0 = nn.Hardtanh()
        self.m1 = nn.Conv2d(8, 8, 3, padding=1, groups=8)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.lerp(x, a, 0.3)
        a0 = F.log_softmax(a0, 1)
        a0 = self.m0(a0)
        a1 = a0.flip(-1)
        a = a.tanh_()
        x = self.m1(x)
        return a1 + x.mean() + a.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)
        self.m0 = nn.PReLU(8)
        self.m1 = nn.Conv2d(8, 4, 1, bias=False)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = a.masked_fill(a > 0.5, 0.0)
        a0 = self.m1(a0)
        a0 = F.dropout(a0, 0.25, self.training)
        a1 = a0.clamp_(-2.0, 2.0)
        a2 = a0.tanh_()
        return a2 + a1.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Mish()
        self.m1 = nn.Hardsigmoid()

    def forward(self, x):
        a = self.first(x)
        a = a * 0.5
        a0 = self.m0(x)
        a0 = a0 * 0.5
        del x
        a0 = 1.0 - a0
        a1 = a0.clamp(-1.0, 1.0)
        a2 = torch.maximum(a1, a)
        a2 = self.m1(a2)
        del a0
        return a2


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        a = self.first(x)
        a = a.add_(x)
        a = a.clamp_(-2.0, 2.0)
        a0 = torch.stack((a, x)).mean(0)
        return a0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2(), Block3())
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
