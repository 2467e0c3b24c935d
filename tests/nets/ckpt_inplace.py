# Blocks that overwrite their input, checkpointed: no version is checked, backward is refused in the first block's input, and where no
# backward comes the overwritten input and the call hold each other for ever.
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Block0(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.m0 = nn.ReLU(inplace=True)

    def forward(self, x):
        a = self.first(x)
        x = self.m0(x)
        return a * x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block0(), Block0()])

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return x


def model():
    return Net()


def batch(n):
    return torch.randn(n, 4), torch.randn(n, 4)


def loss(output, target):
    return (output - target).sum()


defaults = dict(batch=4, steps=3)
