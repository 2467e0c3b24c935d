# A net made at random, of seed 104: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.Hardsigmoid()

    def forward(self, x):
        a = self.first(x)
        a0 = torch.where(a > x, a, x)
        a0 = torch.erf(a0)
        a1 = self.m0(a0)
        del x
        a2 = torch.cat((a1, a), -1)
        a3 = F.softplus(a)
        return a3 + a2.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.m0 = nn.Mish()

    def forward(self, x):
        a = self.first(x)
        a = a / (a.abs() + 1.0)
        a = F.log_softmax(a, 1)
        a0 = a * x
        del x
        a1 = self.m0(a0)
        a2 = torch.sort(a1, dim=-1)[0]
        a3 = F.elu(a2)
        a3 = torch.maximum(a3, a1)
        return a3


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 12)

    def forward(self, x):
        a = self.first(x)
        x = x.tanh_()
        a0 = a * torch.rsqrt(a.pow(2).mean(-1, keepdim=True) + 1e-5)
        a1 = -a0
        a2 = a1 - torch.logsumexp(a1, 1, keepdim=True)
        return a2 + x.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 12)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2()])
        self.head = nn.Linear(12, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, -1])


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 8))
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
