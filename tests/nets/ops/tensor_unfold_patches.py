# tensor_unfold_patches
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 3, 8, 8))

    def forward(self, inputs):
        return (self.x * 2).unfold(2, 4, 4).unfold(3, 4, 4).reshape(2, 3, 4, 16)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 3, 4, 16)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
