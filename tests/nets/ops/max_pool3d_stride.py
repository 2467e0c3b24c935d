# max_pool3d_stride: nn.MaxPool3d((1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1))
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 4, 4, 9, 9))
        self.op = nn.MaxPool3d((1, 3, 3), stride=(1, 2, 2), padding=(0, 1, 1))

    def forward(self, inputs):
        return self.op(self.x * 2)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 4, 4, 5, 5)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
