# split into unequal parts, one used
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(6, 90))

    def forward(self, inputs):
        a, b = torch.split(self.x, [20, 70], dim=1)
        return torch.exp(a)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(6, 20)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
