# conv3d_replicate: nn.Conv3d(3, 5, 4, padding="same", padding_mode="replicate")
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 3, 5, 9, 9))
        self.op = nn.Conv3d(3, 5, 4, padding="same", padding_mode="replicate")

    def forward(self, inputs):
        return self.op(self.x * 2)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 5, 5, 9, 9)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
