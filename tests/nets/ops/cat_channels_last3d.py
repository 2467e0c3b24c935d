# cat_channels_last3d: of channels-last images, then nn.Conv3d(6, 2, 1)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 5, 4, 4, 3))
        self.op = nn.Conv3d(6, 2, 1)

    def forward(self, inputs):
        return self.op(torch.cat([self.x.permute(0, 4, 1, 2, 3), self.x.permute(0, 4, 1, 2, 3) * 2], 1))


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 2, 5, 4, 4)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
