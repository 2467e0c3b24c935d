# unbind, two of six used
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(6, 90))

    def forward(self, inputs):
        parts = torch.unbind(self.x, 0)
        a = parts[0]
        b = parts[3]
        return a * b


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(90)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
