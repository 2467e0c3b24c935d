# einsum_scores
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(2, 3, 7, 5))
        self.b = nn.Parameter(torch.randn(2, 3, 8, 5))

    def forward(self, inputs):
        return torch.einsum("bhqd,bhkd->bhqk", self.a, self.b)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 3, 7, 8)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
