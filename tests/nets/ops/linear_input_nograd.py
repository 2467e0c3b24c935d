# linear whose input does not require grad: the weight is not saved
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = nn.Linear(20, 30)

    def forward(self, inputs):
        return self.op(inputs)


def model():
    return Net()


def batch(n):
    return torch.randn(7, 20), torch.randn(7, 30)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
