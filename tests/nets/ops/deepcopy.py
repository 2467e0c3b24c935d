# Deep copies: of blocks on the host, of the model on the device, of weights that are one.
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        block = nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.ReLU())
        self.layers = nn.ModuleList([copy.deepcopy(block) for i in range(3)])
        tied = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6)])
        tied[1].weight = tied[0].weight
        self.shared = copy.deepcopy(tied)

    def forward(self, inputs):
        y = inputs
        for layer in self.layers:
            y = layer(y)
        return y + self.shared[1](self.shared[0](inputs))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 6), torch.randint(0, 6, (n,))


def optimizer(model):
    model.average = [copy.deepcopy(model)]
    model.average.append(copy.deepcopy(model.average))
    return torch.optim.SGD(model.parameters(), lr=0.1)


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=2, steps=2)
