# split
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(6, 90))

    def forward(self, inputs):
        a, b, c = torch.split(self.x, 30, dim=1)
        return a * 2 + b + c


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(6, 30)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
