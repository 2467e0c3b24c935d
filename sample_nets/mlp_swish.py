# The Swish benchmark, composed: x * sigmoid(x) out of two ordinary ops.
# Lesson: autograd keeps x and sigmoid(x), two tensors of 2^19 columns, where one would do.
# The published table zeroes gradients in place: run it with zero-grad = zeros.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


def model():
    return nn.Sequential(
        nn.Linear(256, 2 ** 19), Swish(), nn.BatchNorm1d(2 ** 19), nn.Linear(2 ** 19, 1)
    )


def batch(n):
    return torch.randn(n, 256), torch.randint(0, 2, (n,)).float()


def loss(output, target):
    return F.binary_cross_entropy_with_logits(output[:, 0], target)


defaults = dict(batch=128, optimizer="sgd", lr=0.1)
