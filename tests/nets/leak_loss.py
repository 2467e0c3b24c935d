# A step of its own that adds an extra loss itself to a total, not its number: the graphs of
# every step stay, with all they saved.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Total:
    def __init__(self):
        self.loss = 0.0


total = Total()


def model():
    return nn.Sequential(nn.Linear(30, 50), nn.ReLU(), nn.Linear(50, 7))


def batch(n):
    return torch.randn(n, 30), torch.randint(0, 7, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    output = model(inputs)
    loss = F.cross_entropy(output, targets)
    extra = (model(inputs * 0.5) ** 2).mean()
    total.loss = total.loss + extra
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss


defaults = dict(batch=12, steps=4)
