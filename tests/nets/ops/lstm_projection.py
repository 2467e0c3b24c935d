# lstm_projection: nn.LSTM(4, 5, num_layers=2, proj_size=2, bidirectional=True)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(6, 3, 4))
        self.op = nn.LSTM(4, 5, num_layers=2, proj_size=2, bidirectional=True)

    def forward(self, inputs):
        return self.op(self.x * 2)[0]


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(6, 3, 4)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
