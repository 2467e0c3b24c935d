# matmul_vector
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(7, 20))
        self.b = nn.Parameter(torch.randn(20))

    def forward(self, inputs):
        return torch.matmul(self.a, self.b)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(7)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
