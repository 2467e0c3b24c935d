# transpose
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(6, 5, 18))

    def forward(self, inputs):
        return self.x.transpose(0, 2)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(18, 5, 6)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
