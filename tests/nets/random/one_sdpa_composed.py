# The composed form of scaled_dot_product_attention, half and float, with each kind of mask; the same with heads that key and value share.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Parameter(torch.zeros(2, 4, 5, 6))
        self.k = nn.Parameter(torch.zeros(2, 2, 7, 6))
        self.v = nn.Parameter(torch.zeros(2, 4, 7, 10))
        self.m = nn.Parameter(torch.zeros(5, 7))
        self.register_buffer("b", torch.ones(5, 7, dtype=torch.bool))

    def forward(self, kind, low):
        q, k, v, m, causal = self.q, self.k, self.v, None, False
        if low:
            q, k, v = q.half(), k.half(), v.half()
        if kind == 1:
            m = self.b
        if kind == 2:
            m = self.m.half() if low else self.m
        if kind == 3:
            causal = True
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m, is_causal=causal, enable_gqa=True)


def model():
    return Net()


def batch(n):
    return torch.zeros(1), torch.zeros(1)


CHOICES = ((True, True, True, True), (True, False, False, True), (False, True, True, False),
           (False, False, False, True), (False, False, False, False))


def train_step(model, optimizer, scaler, inputs, targets):
    for q, k, v, m in CHOICES:
        model.q.requires_grad_(q)
        model.k.requires_grad_(k)
        model.v.requires_grad_(v)
        model.m.requires_grad_(m)
        for kind in range(4):
            for low in (False, True):
                y = model(kind, low)
                if y.requires_grad:
                    y.sum().backward()
                del y
                optimizer.zero_grad()
    return torch.zeros(1)


defaults = dict(batch=1, steps=1)
