# A net made at random, of seed 128: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.Dropout(0.2)
        self.m1 = nn.MultiheadAttention(16, 2, batch_first=True)
        self.m2 = nn.MultiheadAttention(16, 2, batch_first=True)
        self.m3 = nn.LeakyReLU(0.1)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a1 = torch.cat((a0, a), -1)
        a2 = F.hardshrink(a1)
        a3 = self.m1(a2, a2, a2, need_weights=False)[0]
        a3 = F.log_softmax(a3, 1)
        del a2
        a3 = self.m2(a3, a3, a3, need_weights=False)[0]
        a4 = self.m3(a3)
        return a4


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.m0 = nn.Hardswish()

    def forward(self, x):
        a = self.first(x)
        a0 = torch.maximum(a, x)
        x = torch.maximum(x, a)
        a0 = a0.clamp_(-2.0, 2.0)
        a = self.m0(a)
        return a0 + x.mean() + a.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(16, 16)
        self.m0 = nn.Linear(16, 8)
        self.m1 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a = a.tanh_()
        x = self.m0(x)
        a0 = a.tanh()
        a = self.m1(a)
        a0 = torch.einsum("btd,bsd->bts", a0, a).softmax(-1) @ a
        return a0 + x.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 8)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2()])
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 7, 20)
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
