# q, k and v are transposed views of one tensor
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 7, 144))

    def forward(self, inputs):
        q, k, v = self.x.split(48, dim=2)
        q = q.view(2, 7, 3, 16).transpose(1, 2)
        k = k.view(2, 7, 3, 16).transpose(1, 2)
        v = v.view(2, 7, 3, 16).transpose(1, 2)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 3, 7, 16)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
