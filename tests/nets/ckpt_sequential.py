# checkpoint_sequential called by the file, with dropout inside: both computations must agree.
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint_sequential


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for i in range(5):
            layers.append(nn.Linear(24, 24))
            layers.append(nn.Tanh())
            layers.append(nn.Dropout(0.2))
        self.layers = nn.Sequential(*layers)
        self.fc = nn.Linear(24, 3)

    def forward(self, x):
        x = checkpoint_sequential(self.layers, 4, x, use_reentrant=False)
        return self.fc(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 24), torch.randint(0, 3, (n,))


defaults = dict(batch=8)
