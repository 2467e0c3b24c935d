# dropout_transposed
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(7, 12, 10))

    def forward(self, inputs):
        turned = self.x.transpose(0, 1).contiguous()
        dropped = F.dropout(turned.reshape(-1).view(12, 7, 10), 0.3)
        return dropped.transpose(0, 1) * 1.0


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(7, 12, 10)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
