# unfold_module
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 3, 8, 8))
        self.op = nn.Unfold(4, stride=4)

    def forward(self, inputs):
        return self.op(self.x)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 48, 4)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
