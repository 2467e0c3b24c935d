# lstm_linear: nn.LSTM(4, 5), then a linear layer: under autocast to bfloat16 the LSTM gives float16
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(6, 3, 4))
        self.op = nn.LSTM(4, 5)
        self.fc = nn.Linear(5, 5)

    def forward(self, inputs):
        return self.fc(self.op(self.x * 2)[0])


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(6, 3, 5)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=2, steps=2)
