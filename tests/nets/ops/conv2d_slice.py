# conv2d of a slice of channels (dense per sample, not as a whole)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 8, 9, 9))
        self.op = nn.Conv2d(4, 6, 3)

    def forward(self, inputs):
        return self.op(self.x[:, 2:6])


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 6, 7, 7)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
