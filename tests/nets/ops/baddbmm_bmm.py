# baddbmm_bmm
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(3, 7, 20))
        self.b = nn.Parameter(torch.randn(3, 20, 30))

    def forward(self, inputs):
        return torch.baddbmm(torch.bmm(self.a, self.b), self.a, self.b)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(3, 7, 30)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
