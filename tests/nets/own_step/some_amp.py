# One forward under the step's own autocast, one outside it, and a loss in a region that turns autocast off.
import torch
import torch.nn as nn
import torch.nn.functional as F


def model():
    return nn.Sequential(nn.Linear(30, 50), nn.ReLU(), nn.Linear(50, 30))


def batch(n):
    return torch.randn(n, 30), torch.randn(n, 30)


def train_step(model, optimizer, scaler, inputs, targets):
    first = model(inputs)
    first = first * 2
    with torch.autocast("cuda", dtype=torch.bfloat16):
        second = model(inputs)
        loss = F.mse_loss(second, targets)
    third = model(second.float())
    with torch.autocast("cuda", enabled=False):
        loss = loss + F.mse_loss(third.float(), targets) + first.float().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


defaults = dict(batch=12)
