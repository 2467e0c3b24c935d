# avg_pool3d_padding: nn.AvgPool3d(3, stride=2, padding=1, count_include_pad=False)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 4, 5, 9, 9))
        self.op = nn.AvgPool3d(3, stride=2, padding=1, count_include_pad=False)

    def forward(self, inputs):
        return self.op(self.x * 2)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 4, 3, 5, 5)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
