# adaptive_avg_pool3d: nn.AdaptiveAvgPool3d((2, None, 3))
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 4, 5, 6, 7))
        self.op = nn.AdaptiveAvgPool3d((2, None, 3))

    def forward(self, inputs):
        return self.op(self.x * 2)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 4, 2, 6, 3)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
