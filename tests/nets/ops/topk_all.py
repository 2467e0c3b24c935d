# topk_all
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(7, 90))

    def forward(self, inputs):
        values, index = (self.x * 2).topk(90, dim=0 - 1, largest=False)
        return values


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(7, 90)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
