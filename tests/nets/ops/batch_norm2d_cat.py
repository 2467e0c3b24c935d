# batch norm of a concatenation: its gradient is cut into slices
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(2, 2, 7, 7))
        self.b = nn.Parameter(torch.randn(2, 4, 7, 7))
        self.op = nn.BatchNorm2d(6)

    def forward(self, inputs):
        return self.op(torch.cat([self.a, self.b], 1))


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 6, 7, 7)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
