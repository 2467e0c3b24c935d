# sdpa_gqa_mask
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.randn(2, 4, 7, 16))
        self.k = nn.Parameter(torch.randn(2, 2, 9, 16))
        self.v = nn.Parameter(torch.randn(2, 2, 9, 16))
        self.m = nn.Parameter(torch.randn(7, 9))

    def forward(self, inputs):
        return F.scaled_dot_product_attention(self.q, self.k, self.v, attn_mask=self.m, enable_gqa=True)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 4, 7, 16)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
