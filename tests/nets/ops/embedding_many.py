# embedding of more than 3072 indices: backward sorts them
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = nn.Embedding(50, 12)

    def forward(self, inputs):
        return self.op(inputs)


def model():
    return Net()


def batch(n):
    return torch.randint(0, 50, (n, 2000)), torch.randn(2, 2000, 12)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
