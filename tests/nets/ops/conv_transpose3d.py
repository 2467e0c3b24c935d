# conv_transpose3d: nn.ConvTranspose3d(4, 6, 2, stride=2)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 4, 3, 5, 5))
        self.op = nn.ConvTranspose3d(4, 6, 2, stride=2)

    def forward(self, inputs):
        return self.op(self.x)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 6, 6, 10, 10)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
