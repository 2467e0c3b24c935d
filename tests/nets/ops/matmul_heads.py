# attention scores of heads that are transposed views: both operands are copied
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.randn(2, 7, 3, 5))
        self.k = nn.Parameter(torch.randn(2, 7, 3, 5))

    def forward(self, inputs):
        return self.q.transpose(1, 2) @ self.k.transpose(1, 2).transpose(-2, -1)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 3, 7, 7)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
