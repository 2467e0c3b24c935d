# scatter_add
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(6, 90))
        self.s = nn.Parameter(torch.randn(6, 4))

    def forward(self, inputs):
        return self.x.scatter_add(1, inputs, self.s)


def model():
    return Net()


def batch(n):
    return torch.randint(0, 90, (6, 4)), torch.randn(6, 90)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
