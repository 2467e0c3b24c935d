# A net made at random, of seed 117: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.LeakyReLU(0.1)

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        a0 = torch.addcmul(a0, x, a0, value=0.1)
        return a0


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Linear(4, 8, bias=False)

    def forward(self, x):
        a = self.first(x)
        a0 = a ** 2
        x = F.relu(x, inplace=True)
        a1 = self.m0(a0)
        a2 = torch.where(a1 > a1, a1, a1)
        a2 = torch.maximum(a2, a1)
        a2 = F.glu(a2)
        return a2 + x.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        x = torch.cat((x, a), -1)
        a0 = self.m0(a)
        a1 = F.logsigmoid(a0)
        a2 = a1.abs()
        return a2 + x.mean()


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
    x = torch.randint(0, 50, (n, 7))
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
