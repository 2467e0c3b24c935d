# Keyword arguments of a checkpointed call go before the others.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
def f(a, b, c, d):
    return (torch.sigmoid(a) * b.tanh() * c.sin() * d.cos()).sum()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, 10)
    def forward(self, x):
        y = self.fc(x)
        return checkpoint(f, y * 2, y.repeat(2, 1)[:8], c=y.repeat(3, 1)[:8], d=y.repeat(4, 1)[:8], use_reentrant=False)
def model():
    return Net()
def batch(n):
    return torch.randn(n, 20), torch.randint(0, 10, (n,))
def loss(o, t):
    return o * 1.0
defaults = dict(batch=8, steps=2)
