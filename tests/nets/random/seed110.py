# A net made at random, of seed 110: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Mish()

    def forward(self, x):
        a = self.first(x)
        a0 = torch.softmax(a @ a.transpose(1, 2) * 0.3, -1) @ a
        a0 = self.m0(a0)
        return a0


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.MultiheadAttention(4, 2, batch_first=True)
        self.m1 = nn.ReLU6()
        self.m2 = nn.Linear(4, 4, bias=False)
        self.m3 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        x = self.m0(x, x, x, need_weights=False)[0]
        a = F.dropout(a, 0.25, self.training)
        x = torch.cat((x, a), -1)
        a = self.m1(a)
        a0 = self.m2(a)
        del a
        a1 = self.m3(a0)
        a1 = F.log_softmax(a1, 1)
        return a1 + x.mean()


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
        return self.head(x.mean(1))


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 6))
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
