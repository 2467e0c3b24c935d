# tests/gpu/too_large.py - a net whose activations outgrow any GPU at a batch that the host hardly notices: for running
# out of memory on purpose.
import torch
import torch.nn as nn


def model():
    return nn.Sequential(nn.Linear(64, 65536), nn.ReLU(), nn.Linear(65536, 64), nn.Linear(64, 65536), nn.ReLU(),
                         nn.Linear(65536, 1))


def batch(n):
    return torch.randn(n, 64), torch.randn(n, 1)


def loss(output, target):
    return nn.functional.mse_loss(output, target)


defaults = dict(batch=400000, steps=2)
