# A checkpoint inside a checkpoint.
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(32, 32)
        self.fc2 = nn.Linear(32, 32)

    def forward(self, x):
        return torch.relu(self.fc2(torch.tanh(self.fc1(x))))


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = Inner()
        self.second = Inner()

    def forward(self, x):
        x = checkpoint(self.first, x, use_reentrant=False)
        x = torch.sigmoid(x)
        return checkpoint(self.second, x, use_reentrant=False)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.outer = nn.ModuleList([Outer(), Outer()])
        self.fc = nn.Linear(32, 4)

    def forward(self, x):
        for outer in self.outer:
            x = checkpoint(outer, x, use_reentrant=False)
        return self.fc(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 32), torch.randint(0, 4, (n,))


defaults = dict(batch=8)
