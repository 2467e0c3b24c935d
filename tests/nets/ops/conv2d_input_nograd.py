# conv2d whose input does not require grad
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = nn.Conv2d(4, 6, 3)

    def forward(self, inputs):
        return self.op(inputs)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 4, 9, 9), torch.randn(2, 6, 7, 7)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
