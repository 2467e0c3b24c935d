# conv3d_depthwise_last: nn.Conv3d(4, 4, 3, padding=1, groups=4) of a channels-last image
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 5, 9, 9, 4))
        self.op = nn.Conv3d(4, 4, 3, padding=1, groups=4)

    def forward(self, inputs):
        return self.op(self.x.permute(0, 4, 1, 2, 3))


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 4, 5, 9, 9)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
