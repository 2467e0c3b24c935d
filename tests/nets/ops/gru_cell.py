# GRU cells through time; one without a batch.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(10, 16)
        self.plain = nn.GRUCell(16, 8, bias=False)
        self.fc = nn.Linear(16, 8)

    def forward(self, inputs):
        h = None
        for t in range(inputs.shape[1]):
            h = self.cell(inputs[:, t], h)
        return self.plain(h[0], h[0, :8]) + self.fc(h)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 4, 10), torch.randint(0, 5, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=2, steps=2)
