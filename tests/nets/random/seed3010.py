# A net made at random, of seed 3010: tests/property/netgen.h.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def scaled_view(x):
    y = x * 2.0
    y.select(1, 0).mul_(0.5)
    y[:, -1].sigmoid_()
    return y


def pasted(x, w):
    y = x.clone()
    y[:, :2] = w[:, :2]
    return y


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.Hardswish()
        self.m1 = nn.LayerNorm(8, elementwise_affine=False)
        self.m2 = nn.Dropout(0.2)
        self.m3 = nn.Mish()
        self.m4 = nn.Hardswish()

    def forward(self, x):
        a = self.first(x)
        a0 = self.m0(a)
        del a
        a0 = self.m1(a0)
        a1 = self.m2(a0)
        a1 = self.m3(a1)
        a2 = self.m4(a1)
        del a1
        return a2


class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)

    def forward(self, x):
        a = self.first(x)
        x = x + x.max(1, keepdim=True)[0]
        a = a * torch.rsqrt(a.pow(2).mean(-1, keepdim=True) + 1e-5)
        a0 = F.dropout(a, 0.2, self.training, inplace=True)
        a1 = x[:, torch.arange(x.shape[1], device=x.device).flip(0)]
        a1 = scaled_view(a1)
        a2 = x / (a.abs() + 1.0)
        return a2 + a0.mean() + a1.mean()


class Block2(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.LayerNorm(8)

    def forward(self, x):
        a = self.first(x)
        a0 = x.clamp(-1.0, 1.0)
        a0 = self.m0(a0)
        a0 = torch.addcdiv(a0, x, a0.abs() + 1.0, value=0.2)
        x = x.clone() ** 3
        a = torch.cat((a, a0), -1)
        a0 = a0 * 0.5
        return a0 + x.mean() + a.mean()


class Block3(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.m0 = nn.LayerNorm(8, elementwise_affine=False)
        self.m1 = nn.Hardtanh()

    def forward(self, x):
        a = self.first(x)
        a0 = a + F.kl_div(a.log_softmax(1), x.softmax(1), reduction="sum") * 0.1
        a1 = pasted(a0, x)
        a1 = a1 * F.cosine_similarity(a1, x, dim=1).unsqueeze(1)
        a2 = self.m0(a1)
        a3 = torch.stack((a2, x)).mean(0)
        a4 = self.m1(a3)
        del a3
        return a4


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(20, 8)
        self.blocks = nn.Sequential(Block0(), Block1(), Block2(), Block3())
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.stem(x)
        x = self.blocks(x)
        return self.head(x)


def model():
    return Net()


def batch(n):
    x = torch.randn(n, 20)
    return x, torch.randint(0, 10, (n,))


defaults = dict(batch=4, steps=3)
