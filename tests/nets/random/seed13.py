# A net made at random, of seed 13: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.ReLU6()

    def forward(self, x):
        a = self.first(x)
        x = torch.erf(x)
        a0 = self.m0(a)
        a1 = F.softplus(a0)
        return a1 + x.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a0 = torch.where(a > x, a, x)
        a0 = a0 - a0.mean(-1, keepdim=True)
        a1 = self.m0(a0)
        return a1


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        a = self.first(x)
        a = a - a.amax(-1, keepdim=True)
        a = torch.addcmul(a, x, a, value=0.1)
        return a


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 4)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x.mean(1))


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 5))
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
