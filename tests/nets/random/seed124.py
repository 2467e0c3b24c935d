# A net made at random, of seed 124: tests/property/netgen.h.
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
        a0 = a.detach() * 0.5 + a
        a0 = self.m0(a0)
        a0 = a0.mul_(0.9)
        return a0


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Threshold(0.1, 0.2)
        self.m1 = nn.SiLU()
        self.m2 = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(x)
        a0 = torch.einsum("btd,bsd->bts", a0, x).softmax(-1) @ x
        a0 = a0 + x
        a = self.m1(a)
        a1 = self.m2(a0, a0, a0, need_weights=False)[0]
        a2 = a1 + a0
        return a2 + a.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a = torch.where(a > 0.0, a, a * 0.1)
        a0 = self.m0(a)
        return a0


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Threshold(0.1, 0.2)
        self.m1 = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        a = self.first(x)
        a = a - torch.logsumexp(a, 1, keepdim=True)
        a0 = torch.addcmul(x, a, x, value=0.1)
        a1 = self.m0(a0)
        del x
        a2 = self.m1(a1, a1, a1, need_weights=False)[0]
        a0 = F.relu(a0, inplace=True)
        del a1
        return a2 + a0.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 4)
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
    x = torch.randint(0, 50, (n, 6))
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
