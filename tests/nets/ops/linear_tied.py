# one weight used twice, once transposed: its two gradients join
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(30, 20))
        self.x = nn.Parameter(torch.randn(7, 20))

    def forward(self, inputs):
        return F.linear(F.linear(self.x, self.w), self.w.t())


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(7, 20)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
