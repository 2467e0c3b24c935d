# sdpa_long
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.randn(1, 2, 70, 64))
        self.k = nn.Parameter(torch.randn(1, 2, 70, 64))
        self.v = nn.Parameter(torch.randn(1, 2, 70, 64))

    def forward(self, inputs):
        return F.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=True)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(1, 2, 70, 64)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
