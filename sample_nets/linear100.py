# One hundred equal Linear layers in a Sequential: a chain of equal activations.
# Lesson: checkpoint_sequential (checkpoint = segments=K, sqrt) trades one more forward for
# about 2*sqrt(100) instead of 100 live activations; segments=1 changes nothing.
import torch
import torch.nn as nn


def model():
    layers = [nn.Linear(256, 256) for i in range(100)]
    return nn.Sequential(*layers)


def batch(n):
    return torch.randn(n, 256), torch.randn(n, 256)


def loss(output, target):
    return ((output - target) ** 2).mean()


defaults = dict(batch=1024)
