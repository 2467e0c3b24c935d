# LSTM cells through time, with and without biases.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(10, 16)
        self.plain = nn.LSTMCell(16, 8, bias=False)
        self.fc = nn.Linear(8, 5)

    def forward(self, inputs):
        h = c = inputs.new_zeros(inputs.shape[0], 16)
        for t in range(inputs.shape[1]):
            h, c = self.cell(inputs[:, t], (h, c))
        h, c = self.plain(h)
        return self.fc(h) + c.sum()


def model():
    return Net()


def batch(n):
    return torch.randn(n, 4, 10), torch.randint(0, 5, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=2, steps=2)
