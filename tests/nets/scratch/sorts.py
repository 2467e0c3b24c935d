# Sorts of long lines: one, few, many, across.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Parameter(torch.zeros(20000))
        self.few = nn.Parameter(torch.zeros(3, 100000))
        self.many = nn.Parameter(torch.zeros(300, 5000))
        self.long = nn.Parameter(torch.zeros(2, 1000000))

    def forward(self, inputs):
        out = [self.one.sort()[0], self.few.sort(dim=1)[0], self.many.sort(dim=1)[0]]
        out += [self.many.t().sort(dim=0)[0], self.few.t().sort(dim=0)[0], self.long.sort(dim=1)[0]]
        out += [self.few.double().sort(dim=1)[0], self.many.argsort(dim=1).sum() * self.one.sum()]
        return out


def model():
    return Net()


def batch(n):
    return torch.zeros(n), torch.zeros(1)


def loss(output, target):
    return sum(o.sum() for o in output)


defaults = dict(batch=2, steps=1)
