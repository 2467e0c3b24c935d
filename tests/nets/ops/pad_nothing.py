# Padding by nothing is a copy in the same order; its gradient is cut out in the gradient's order.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 5, 3, 8))
        self.y = nn.Parameter(torch.randn(2, 3, 8, 6))

    def forward(self, inputs):
        x = F.pad(self.x.permute(0, 2, 1, 3), (0, 0, 0, 0))
        return F.pad(x, (0, 0, 1, 0)) * self.y.transpose(2, 3)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(1)


def loss(output, target):
    return output.float().square().mean()


defaults = dict(batch=2, steps=2)
