# A net made at random, of seed 103: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Mish()
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.Hardswish()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = a0.masked_fill(a0 > 0.5, 0.0)
        a0 = self.m1(a0)
        a1 = self.m2(a0)
        a2 = F.dropout(a1, 0.25, self.training)
        return a2


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        a = F.softsign(a)
        a = a.detach() * 0.5 + a
        return a


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.ReLU()

    def forward(self, x):
        a = self.first(x)
        a = torch.addcmul(a, x, a, value=0.1)
        a = self.m0(a)
        a = torch.log(a.abs() + 1.0)
        a0 = a.transpose(1, 2).contiguous().transpose(1, 2)
        a1 = a0 - x
        return a1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 4)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x[:, -1])


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 5))
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
