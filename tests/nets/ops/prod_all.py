# prod_all
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(90))

    def forward(self, inputs):
        return torch.prod(self.x + 1.0)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(1)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
