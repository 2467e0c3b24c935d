# Does what the built-in loop does with drop-outputs=on, so every toggle gives the same events with and without train_step.
import torch
import torch.nn as nn
import torch.nn.functional as F


def model():
    return nn.Sequential(nn.Linear(30, 50), nn.ReLU(), nn.Sequential(nn.Linear(50, 50), nn.ReLU()), nn.Linear(50, 7))


def batch(n):
    return torch.randn(n, 30), torch.randint(0, 7, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    output = model(inputs)
    loss = F.cross_entropy(output, targets)
    scaler.scale(loss).backward()
    del output, loss
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


defaults = dict(batch=12)
