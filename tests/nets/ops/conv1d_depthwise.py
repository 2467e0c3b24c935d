# conv1d_depthwise
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 16, 30))
        self.op = nn.Conv1d(16, 16, 4, groups=16, padding=3)

    def forward(self, inputs):
        return self.op(self.x)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 16, 33)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
