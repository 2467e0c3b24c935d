# einsum_linear
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(2, 7, 20))
        self.b = nn.Parameter(torch.randn(30, 20))

    def forward(self, inputs):
        return torch.einsum("bti,oi->bto", self.a, self.b)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 7, 30)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
