# batch norm bfloat16
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(4)
        self.x = nn.Parameter(torch.randn(3, 4, 5, 5).to(torch.bfloat16))

    def forward(self, inputs):
        return self.norm(self.x)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(3, 4, 5, 5)


def loss(output, target):
    return (output.float() * target).sum()


defaults = dict(batch=2, steps=2)
