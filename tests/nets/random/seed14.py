# A net made at random, of seed 14: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Hardswish()

    def forward(self, x):
        a = self.first(x)
        x = self.m0(x)
        a0 = a / (a.abs() + 1.0)
        a1 = a0 * x
        a1 = torch.sort(a1, dim=-1)[0]
        a1 = a1 ** 2
        del x
        return a1


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.ReLU6()
        self.m1 = nn.ReLU()
        self.m2 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(x)
        a = F.normalize(a, dim=-1)
        a = a * 0.5
        a = self.m1(a)
        a0 = self.m2(a0)
        return a0 + a.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.RMSNorm(4)
        self.m1 = nn.Mish()
        self.m2 = nn.LayerNorm(4)
        self.m3 = nn.PReLU()
        self.m4 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a = self.m1(a)
        a = self.m2(a)
        a0 = self.m3(x)
        a0 = torch.atan(a0)
        x = torch.stack((x, a)).mean(0)
        a1 = self.m4(a0)
        del a
        return a1 + x.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 4)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2()])
        self.head = nn.Linear(4, 10)

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


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
