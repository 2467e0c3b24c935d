# weight_norm_turned
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = nn.Parameter(torch.randn(5, 6, 8))
        self.g = nn.Parameter(torch.ones(8, 1, 1))

    def forward(self, inputs):
        return torch._weight_norm(self.v.permute(2, 1, 0), self.g, 0).permute(2, 1, 0)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(5, 6, 8)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
