# conv_transpose2d_options: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 4, 9, 9))
        self.op = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)

    def forward(self, inputs):
        return self.op(self.x)


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 6, 18, 18)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
