# A net made at random, of seed 3026: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def mixed(a, b):
    return torch.sigmoid(a) * b.tanh()


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Dropout(0.2)
        self.m1 = nn.LeakyReLU(0.1)
        self.m2 = nn.ReLU6()

    def forward(self, x):
        a = self.first(x)
        x = self.m0(x)
        a = self.m1(a)
        a = a * a.norm()
        x = x - x.mean(-1, keepdim=True)
        a0 = torch.erf(x)
        a1 = self.m2(a0)
        a1 = a1.sum(-1, keepdim=True).expand_as(a1) * 0.1
        return a1 + a.mean()


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.Threshold(0.1, 0.2)
        self.m1 = nn.Mish()
        self.m2 = nn.Threshold(0.1, 0.2)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = x * F.cosine_similarity(x, a, dim=1).unsqueeze(1)
        a1 = self.m1(a)
        a1 = torch.atan(a1)
        a1 = self.m2(a1)
        return a1 + a0.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.ReLU6()
        self.m1 = nn.LeakyReLU(0.1)

    def forward(self, x):
        a = self.first(x)
        a = self.m0(a)
        a0 = torch.stack((a, x)).mean(0)
        del x
        a1 = checkpoint(mixed, a0, b=a, use_reentrant=False)
        a1 = F.log_softmax(a1, 1)
        a2 = self.m1(a0)
        a2 = torch.addcdiv(a2, a2, a2.abs() + 1.0, value=0.2)
        a3 = a1[torch.arange(a1.shape[0], device=a1.device)]
        return a3 + a2.mean()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 4)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2())
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        x = self.blocks[2](x)
        return self.head(x)


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 20)
    return x, torch.randint(0, 10, (n,))


def loss(output, target):
    return torch.logsumexp(output, 1).mean() - output[torch.arange(output.shape[0], device=output.device), target].mean()


defaults = dict(batch=4, steps=3)
