# depthwise conv2d of a permuted input: channels last, cuDNN takes it
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(2, 9, 9, 4))
        self.op = nn.Conv2d(4, 4, 3, padding=1, groups=4)

    def forward(self, inputs):
        return self.op(self.x.permute(0, 3, 1, 2))


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(2, 4, 9, 9)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
