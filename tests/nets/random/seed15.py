# A net made at random, of seed 15: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        a = self.first(x)
        a0 = 1.0 - a
        del x
        a = a.flip(-1)
        return a0 + a.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.ReLU6()
        self.m1 = nn.Dropout(0.2)
        self.m2 = nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.m3 = nn.Dropout(0.2)
        self.m4 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        del x
        a1 = self.m1(a0)
        a2 = self.m2(a0)
        a = self.m3(a)
        a2 = self.m4(a2)
        del a0
        return a2 + a.mean() + a1.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.AvgPool2d(2)
        self.m1 = nn.Conv2d(4, 4, 2, stride=2)
        self.m2 = nn.Mish()

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = self.m1(x)
        a1 = F.pad(a0, (1, 0, 0, 1))[:, :, 1:, :-1]
        del x
        a2 = self.m2(a0)
        a = torch.cat((a, a2), 1)
        a2 = a2 - a0
        a2 = torch.where(a2 > a1, a2, a1)
        return a2 + a.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
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
