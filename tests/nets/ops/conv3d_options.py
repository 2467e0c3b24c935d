# conv3d_options: nn.Conv3d(4, 6, (3, 2, 3), stride=(1, 2, 2), padding=(2, 1, 0), dilation=(2, 1, 1), groups=2, bias=False)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 4, 5, 9, 9))
        self.op = nn.Conv3d(4, 6, (3, 2, 3), stride=(1, 2, 2), padding=(2, 1, 0), dilation=(2, 1, 1), groups=2, bias=False)

    def forward(self, inputs):
        return self.op(self.x)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 6, 5, 5, 4)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
