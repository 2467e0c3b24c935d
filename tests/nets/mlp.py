# Three linear layers with ReLU: the smallest net with every kind of tensor.
import torch
import torch.nn as nn


def model():
    return nn.Sequential(
        nn.Linear(30, 50), nn.ReLU(), nn.Linear(50, 40), nn.ReLU(), nn.Linear(40, 7)
    )


def batch(n):
    return torch.randn(n, 30), torch.randint(0, 7, (n,))


defaults = dict(batch=12)
