# A net made at random, of seed 129: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Threshold(0.1, 0.2)
        self.m1 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a0 = F.scaled_dot_product_attention(a.unsqueeze(1), a.unsqueeze(1), a.unsqueeze(1)).squeeze(1)
        a0 = self.m0(a0)
        a1 = torch.addcmul(a, a0, a, value=0.1)
        a1 = self.m1(a1)
        a1 = a1 * a0
        del a
        return a1


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.LeakyReLU(0.1)
        self.m1 = nn.SiLU()
        self.m2 = nn.SiLU()

    def forward(self, x):
        a = self.first(x)
        a = a.sin() + a.cos()
        a0 = self.m0(a)
        del x
        a0 = self.m1(a0)
        a1 = torch.maximum(a0, a)
        a2 = self.m2(a1)
        a = torch.cat((a, a2), -1)
        return a2 + a.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.RMSNorm(4)
        self.m1 = nn.RMSNorm(4)

    def forward(self, x):
        a = self.first(x)
        a0 = a.add_(x)
        a0 = self.m0(a0)
        a1 = self.m1(a0)
        a1 = a1.masked_fill(a1 > 0.5, 0.0)
        a1 = torch.where(a1 > a0, a1, a0)
        a1 = F.normalize(a1, dim=-1)
        return a1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Embedding(50, 4)
        self.blocks = nn.ModuleList([Block0(), Block1(), Block2()])
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, -1])


def model():
    return Net()


def batch(n):
    x = torch.randint(0, 50, (n, 5))
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return F.mse_loss(output.softmax(1), F.one_hot(target, 10).float())


defaults = dict(batch=4, steps=3)
