# weight_norm_middle
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = nn.Parameter(torch.randn(8, 6, 5))
        self.g = nn.Parameter(torch.ones(1, 6, 1))

    def forward(self, inputs):
        return torch._weight_norm(self.v, self.g, 1)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(8, 6, 5)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
