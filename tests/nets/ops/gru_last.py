# gru_last: nn.GRU(4, 5, batch_first=True)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(3, 6, 4))
        self.op = nn.GRU(4, 5, batch_first=True)

    def forward(self, inputs):
        return self.op(self.x * 2)[0][:, -1]


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(3, 5)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
