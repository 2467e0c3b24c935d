# A net made at random, of seed 130: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.addcmul(x, a, x, value=0.1)
        a0 = a0.transpose(2, 3)
        x = x.tanh_()
        return a0 + x.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Conv2d(4, 8, 1, bias=False)
        self.m1 = nn.Conv2d(4, 12, 1, bias=False)
        self.m2 = nn.Conv2d(12, 4, 1, bias=False)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.maximum(a, x)
        del x
        a0 = self.m0(a0)
        a1 = torch.addcmul(a, a, a, value=0.1)
        a1 = self.m1(a1)
        a2 = a1 / (a1.abs() + 1.0)
        a3 = self.m2(a2)
        a4 = torch.sort(a3, dim=-1)[0]
        return a4 + a0.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        a = self.first(x)
        a = a / (a.std(-1, keepdim=True) + 0.1)
        a0 = torch.atan(a)
        a0 = a0 / (a0.abs() + 1.0)
        a1 = a0 * a
        a1 = torch.maximum(a1, x)
        a1 = a1 * torch.rsqrt(a1.pow(2).mean(-1, keepdim=True) + 1e-5)
        a1 = a1 ** 2
        return a1


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 1)
        self.m0 = nn.Hardswish()
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.Hardswish()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a1 = torch.log(a.abs() + 1.0)
        a1 = 1.0 - a1
        a1 = a1 - a1.amax(-1, keepdim=True)
        a = self.m1(a)
        a1 = self.m2(a1)
        return a1 + a.mean() + a0.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2(), Block3()])
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.flatten(2).sum(2) * 0.1)


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 3, 8, 8)
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
