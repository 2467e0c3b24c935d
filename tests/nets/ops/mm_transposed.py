# mm of two transposed operands: gradients come out transposed
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(20, 7))
        self.b = nn.Parameter(torch.randn(30, 20))

    def forward(self, inputs):
        return torch.mm(self.a.t(), self.b.t())


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(7, 30)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
