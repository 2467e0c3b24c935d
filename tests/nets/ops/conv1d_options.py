# conv1d_options: nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 4, 15))
        self.op = nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2)

    def forward(self, inputs):
        return self.op(self.x)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 6, 8)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
