# asin
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.rand(7, 90))

    def forward(self, inputs):
        return torch.asin(self.x * 0.5)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(7, 90)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
