# Parameters and buffers of four dtypes, which the reducer's buckets and broadcasts keep apart.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(20, 30).double()
        self.b = nn.Linear(30, 600)
        self.norm = nn.BatchNorm1d(600)
        self.c = nn.Linear(600, 700).bfloat16()
        self.d = nn.Linear(700, 900).half()
        self.e = nn.Linear(900, 10)
        self.last = nn.BatchNorm1d(10).double()

    def forward(self, x):
        x = self.a(x.double()).float()
        x = self.norm(self.b(x)).bfloat16()
        x = self.d(self.c(x).half()).float()
        return self.last(self.e(x).double()).float()


def model():
    return Net()


def batch(n):
    return torch.randn(n, 20), torch.randint(0, 10, (n,))
