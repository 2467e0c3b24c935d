# A net made at random, of seed 127: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Hardswish()
        self.m1 = nn.LeakyReLU(0.1)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = self.m1(a0)
        a1 = a.sin() + a.cos()
        a2 = torch.softmax(a1 @ a1.transpose(1, 2) * 0.3, -1) @ a1
        del x
        return a2 + a0.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Hardsigmoid()
        self.m1 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = torch.cat((x, a), -1)
        a1 = torch.cat((a0, a0), -1)
        a1 = self.m0(a1)
        a0 = torch.rsqrt(a0.abs() + 0.5)
        a1 = self.m1(a1)
        a1 = F.normalize(a1, dim=-1)
        a2 = a1.transpose(1, 2).contiguous().transpose(1, 2)
        return a2 + a0.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.m0 = nn.Linear(16, 4)
        self.m1 = nn.Hardsigmoid()

    def forward(self, x):
        a = self.first(x)
        a0 = torch.cat((a[:, 1:], a[:, :1]), 1)
        a0 = self.m0(a0)
        a1 = self.m1(a0)
        return a1


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Hardswish()
        self.m1 = nn.ReLU()

    def forward(self, x):
        a = self.first(x)
        a0 = x.tanh()
        a1 = self.m0(a0)
        a2 = self.m1(a1)
        return a2 + a.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 4)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2(), Block3()])
        self.head = nn.Linear(4, 10)

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
