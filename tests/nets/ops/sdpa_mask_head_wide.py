# Attention with a mask and heads wider than 128: gradients of key and value in float32 where the types are half.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.randn(2, 3, 70, 160))
        self.k = nn.Parameter(torch.randn(2, 3, 200, 160))
        self.v = nn.Parameter(torch.randn(2, 3, 200, 160))

    def forward(self, inputs):
        return F.scaled_dot_product_attention(self.q, self.k, self.v, inputs)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 1, 70, 200) > 0, torch.randn(1)


def loss(output, target):
    return output.float().square().mean()


defaults = dict(batch=2, steps=2)
