# addmm_alpha
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Parameter(torch.randn(7, 30))
        self.a = nn.Parameter(torch.randn(7, 20))
        self.b = nn.Parameter(torch.randn(20, 30))

    def forward(self, inputs):
        return torch.addmm(self.c, self.a, self.b, beta=0.5, alpha=2.0)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(7, 30)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
