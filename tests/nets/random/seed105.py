# A net made at random, of seed 105: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.Linear(12, 6)

    def forward(self, x):
        a = self.first(x)
        a0 = a.clamp(min=-0.5)
        a1 = self.m0(a0)
        return a1


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.m0 = nn.Linear(6, 12)
        self.m1 = nn.Hardswish()
        self.m2 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = a0.cumsum(-1)
        a1 = F.softplus(a0)
        a2 = self.m1(x)
        a3 = torch.log(a.abs() + 1.0)
        a3 = torch.exp(-a3.abs())
        a3 = self.m2(a3)
        return a3 + a1.mean() + a2.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.m0 = nn.Linear(12, 8)
        self.m1 = nn.Dropout(0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.cat((a, x), -1)
        a1 = torch.stack((a0, a0)).mean(0)
        a1 = self.m0(a1)
        a1 = self.m1(a1)
        return a1


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = -x
        a0 = F.glu(a0)
        del x
        a1 = self.m0(a0)
        a2 = F.logsigmoid(a1)
        a0 = a0 * a1
        a2 = a2.abs()
        return a2 + a.mean() + a0.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 12)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2(), Block3()])
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
