# Four linear layers that all divide into 2, 4 and 8 parts: tensor parallelism leaves no parameter whole.
import torch
import torch.nn as nn


def model():
    return nn.Sequential(
        nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 32, bias=False), nn.Tanh(), nn.Linear(32, 64, bias=False),
        nn.ReLU(), nn.Linear(64, 10)
    )


def batch(n):
    return torch.randn(n, 24), torch.randint(0, 10, (n,))


defaults = dict(batch=12, steps=2)
