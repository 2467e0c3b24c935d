# grouped_mm_batch
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(4, 6, 16))
        self.b = nn.Parameter(torch.randn(4, 16, 12))

    def forward(self, inputs):
        return F.grouped_mm(self.a, self.b) + torch._grouped_mm(self.a, self.b)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(4, 6, 12)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
