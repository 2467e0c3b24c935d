# conv1d_depthwise_stride
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 64, 30))
        self.op = nn.Conv1d(64, 64, 3, groups=64, stride=2, bias=False)

    def forward(self, inputs):
        return self.op(self.x * 2)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 64, 14)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
