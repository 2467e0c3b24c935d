# A hook on a leaf holds the leaf: a bound method of what keeps it.
import torch
import torch.nn as nn


class Keeper:
    def __init__(self, leaf):
        self.leaf = leaf
        leaf.register_post_accumulate_grad_hook(self.look)

    def look(self, leaf):
        self.leaf.grad = None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        Keeper(torch.ones_like(x, requires_grad=True))
        return self.fc(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 4), torch.randint(0, 4, (n,))


defaults = dict(batch=4, steps=3)
