# conv2d_reflect
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 3, 9, 11))
        self.op = nn.Conv2d(3, 5, 3, padding=1, padding_mode="reflect")

    def forward(self, inputs):
        return self.op(self.x * 2)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 5, 9, 11)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
