# The checkpointed call holds its argument, which gets a history through the call.
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        a = self.fc(x) * 2
        
        def square(b):
            return b * b
        
        a.add_(checkpoint(square, a, use_reentrant=False))
        return self.fc(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 4), torch.randint(0, 4, (n,))


defaults = dict(batch=4, steps=3)
