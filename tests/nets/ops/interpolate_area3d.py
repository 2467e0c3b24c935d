# interpolate_area3d: F.interpolate(self.x * 2, (2, 3, 5), mode="area")
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 4, 3, 6, 5))

    def forward(self, inputs):
        return F.interpolate(self.x * 2, (2, 3, 5), mode="area")


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 4, 2, 3, 5)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
