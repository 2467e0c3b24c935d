# cross_entropy_2d
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 5, 9, 9))

    def forward(self, inputs):
        return self.x * 2


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randint(0, 5, (2, 9, 9))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=2, steps=2)
