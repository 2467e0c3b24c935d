# A net made at random, of seed 9: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a0 = x + a
        a0 = a0.masked_fill(a0 > 0.5, 0.0)
        a1 = torch.where(a0 > x, a0, x)
        a2 = self.m0(a1)
        a2 = a2.clamp_(-2.0, 2.0)
        a2 = F.softplus(a2)
        return a2


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Threshold(0.1, 0.2)
        self.m1 = nn.Hardsigmoid()
        self.m2 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = torch.sqrt(a.abs() + 0.5)
        x = torch.cat((x, a), -1)
        a0 = F.dropout(a0, 0.25, self.training)
        del a
        x = self.m0(x)
        a1 = F.relu(a0)
        a1 = self.m1(a1)
        a2 = self.m2(a1)
        return a2 + x.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.SiLU()
        self.m1 = nn.SiLU()
        self.m2 = nn.ReLU()
        self.m3 = nn.LeakyReLU(0.1)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = torch.maximum(a, x)
        x = self.m1(x)
        a0 = self.m2(a0)
        a0 = torch.addcmul(a0, a, a0, value=0.1)
        a1 = a.mul_(0.9)
        a2 = self.m3(a1)
        return a2 + x.mean() + a0.mean()


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        del a
        a0 = F.relu(a0)
        a1 = torch.einsum("btd,bsd->bts", a0, x).softmax(-1) @ x
        a1 = a1.tanh_()
        return a1


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
        return self.head(x.sum(1) * 0.1)


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 5, 20)
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
