# interpolate_antialias_larger
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 3, 9, 11))

    def forward(self, inputs):
        x = self.x.transpose(2, 3)
        return F.interpolate(x, scale_factor=1.5, mode="bilinear", antialias=True)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 3, 16, 13)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
