# rms_norm_noaffine
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 7, 30))

    def forward(self, inputs):
        return F.rms_norm(self.x, (30,))


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 7, 30)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
