# Attention with many heads and long rows.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.zeros(8, 12, 640, 64))
        self.k = nn.Parameter(torch.zeros(8, 12, 640, 64))
        self.v = nn.Parameter(torch.zeros(8, 12, 640, 64))

    def forward(self, inputs):
        mask = torch.zeros(640, 640, device=inputs.device)
        out = [F.scaled_dot_product_attention(self.q, self.k, self.v), F.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=True)]
        out += [F.scaled_dot_product_attention(self.q, self.k, self.v, attn_mask=mask), F.scaled_dot_product_attention(self.q, self.k, self.v, dropout_p=0.1)]
        return out


def model():
    return Net()


def batch(n):
    return torch.zeros(n), torch.zeros(1)


def loss(output, target):
    return sum(o.sum() for o in output)


defaults = dict(batch=2, steps=1)
