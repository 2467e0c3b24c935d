# Cells without gates.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(10, 16)
        self.relu = nn.RNNCell(16, 7, bias=False, nonlinearity="relu")

    def forward(self, inputs):
        h = self.cell(inputs)
        h = self.cell(inputs, h)
        return self.relu(h, torch.zeros_like(h[:, :7]))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 10), torch.randint(0, 5, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=2, steps=2)
