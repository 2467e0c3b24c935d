# lstm_input_nograd: nn.LSTM(4, 5, batch_first=True)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(1))
        self.op = nn.LSTM(4, 5, batch_first=True)

    def forward(self, inputs):
        return self.op(inputs)[0] * self.x


def model():
    return Net()


def batch(n):
    return torch.randn(n, 6, 4), torch.randn(n, 6, 5)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
