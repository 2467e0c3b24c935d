# Convolutions with batch norm and dropout in one Sequential: what a stage saves, and what its output is a view of,
# differs from stage to stage.
import torch
import torch.nn as nn


def model():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.ReLU(), nn.Dropout(0.1), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 32), nn.Tanh(), nn.Linear(32, 10)
    )


def batch(n):
    return torch.randn(n, 3, 16, 16), torch.randint(0, 10, (n,))


defaults = dict(batch=8, optimizer="momentum", steps=2)
