# sdpa_half_cross_causal
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.randn(2, 3, 7, 16))
        self.k = nn.Parameter(torch.randn(2, 3, 9, 16))
        self.v = nn.Parameter(torch.randn(2, 3, 9, 16))

    def forward(self, inputs):
        return F.scaled_dot_product_attention(self.q.half(), self.k.half(), self.v.half(), is_causal=True).float()


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 3, 7, 16)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
