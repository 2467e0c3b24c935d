# weight_norm_last
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = nn.Parameter(torch.randn(5, 6, 8))
        self.g = nn.Parameter(torch.ones(1, 1, 8))

    def forward(self, inputs):
        return torch._weight_norm(self.v * 2, self.g, 2)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(5, 6, 8)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
