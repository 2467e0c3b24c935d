# depthwise conv2d of 256 channels, stride 2
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 256, 28, 28))
        self.op = nn.Conv2d(256, 256, 5, stride=2, groups=256)

    def forward(self, inputs):
        return self.op(self.x)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 256, 12, 12)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
