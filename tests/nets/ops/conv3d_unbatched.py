# conv3d_unbatched: nn.Conv3d(4, 6, 3)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(4, 5, 9, 9))
        self.op = nn.Conv3d(4, 6, 3)

    def forward(self, inputs):
        return self.op(self.x)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(6, 3, 7, 7)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
