# A net made at random, of seed 16: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Dropout(0.2)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = F.softsign(a)
        a0 = torch.rsqrt(a0.abs() + 0.5)
        return a0


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.ReLU()

    def forward(self, x):
        a = self.first(x)
        x = self.m0(x)
        a = a / (x.abs() + 1.0)
        x = torch.einsum("btd,bsd->bts", x, a).softmax(-1) @ a
        return a + x.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 4)
        self.blocks = nn.ModuleList([Block0(), Block1()])
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, -1])


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 6))
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
