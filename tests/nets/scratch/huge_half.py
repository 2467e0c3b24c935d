# The same in half precision, summed in float.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.zeros(1400000, 1024))
        self.y = nn.Parameter(torch.zeros(5, 400000000))

    def forward(self, inputs):
        x = self.x.half()
        y = self.y.half()
        return [x.sum(0), x.sum(1), x.mean(), y.sum(1), y.amax(1), x.max(0)[0]]


def model():
    return Net()


def batch(n):
    return torch.zeros(n), torch.zeros(1)


def loss(output, target):
    return sum(o.sum() for o in output)


defaults = dict(batch=2, steps=1)
