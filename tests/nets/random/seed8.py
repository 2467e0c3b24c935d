# A net made at random, of seed 8: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.Dropout(0.2)

    def forward(self, x):
        a = self.first(x)
        a0 = torch.addcmul(a, x, a, value=0.1)
        a1 = torch.einsum("btd,bsd->bts", a0, x).softmax(-1) @ x
        a2 = self.m0(a1)
        a2 = torch.sigmoid(a2)
        return a2


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)

    def forward(self, x):
        a = self.first(x)
        a = torch.lerp(a, x, 0.3)
        a = F.elu(a)
        a0 = F.gelu(a)
        return a0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 8)
        self.blocks = nn.ModuleList([Block0(), Block1()])
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.sum(1) * 0.1)


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 7, 20)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
