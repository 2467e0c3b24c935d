# A net made at random, of seed 4: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.m1 = nn.Conv2d(4, 8, 3, padding=1, padding_mode="reflect")

    def forward(self, x):
        a = self.first(x)
        a = a - x
        a = torch.log(a.abs() + 1.0)
        a = self.m0(a)
        a = self.m1(a)
        a0 = torch.cat((a[:, 1:], a[:, :1]), 1)
        a = F.relu(a)
        a1 = F.softplus(a0)
        return a1 + a.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.stack((a, x)).mean(0)
        a1 = x.add_(a0)
        a2 = a1 * 0.5
        return a2


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)
        self.m0 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a = F.avg_pool2d(a, 3, 1, 1)
        a0 = a + x
        a1 = torch.stack((a0, x)).mean(0)
        a1 = self.m0(a1)
        del x
        return a1


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1)
        self.m0 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.maximum(a, x)
        a1 = torch.where(a > x, a, x)
        x = self.m0(x)
        return a1 + x.mean() + a0.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2(), Block3())
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.flatten(2).sum(2) * 0.1)


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
