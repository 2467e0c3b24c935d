# depthwise conv2d of 64 channels, stride 2
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 64, 9, 9))
        self.op = nn.Conv2d(64, 64, 3, stride=2, groups=64)

    def forward(self, inputs):
        return self.op(self.x)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 64, 4, 4)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
