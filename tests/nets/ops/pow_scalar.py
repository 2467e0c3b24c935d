# pow_scalar
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.rand(4, 6))

    def forward(self, inputs):
        return torch.pow(3, self.x.t()).t() + torch.pow(1, self.x)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(4, 6)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
