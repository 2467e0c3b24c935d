# A step of its own with two heads, two losses and one backward each.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(30, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh())
        self.left = nn.Linear(40, 5)
        self.right = nn.Linear(40, 1)

    def forward(self, x):
        x = self.trunk(x)
        return self.left(x), self.right(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 30), torch.randint(0, 5, (n,))


def loss(output, target):
    left, right = output
    return F.cross_entropy(left, target) + (right ** 2).mean()


def train_step(model, optimizer, scaler, inputs, targets):
    left, right = model(inputs)
    first = F.cross_entropy(left, targets)
    second = (right ** 2).mean()
    scaler.scale(first).backward(retain_graph=True)
    del first, left
    scaler.scale(second).backward()
    scaler.step(optimizer)
    scaler.update()
    return second


defaults = dict(batch=9)
