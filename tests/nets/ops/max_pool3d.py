# max_pool3d: nn.MaxPool3d(2)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 4, 4, 9, 9))
        self.op = nn.MaxPool3d(2)

    def forward(self, inputs):
        return self.op(self.x * 2)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 4, 2, 4, 4)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
