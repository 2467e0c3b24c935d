# A step that makes its own batches on the host and moves them to the device one by one, and averages its weights.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Average:
    def __init__(self):
        self.weights = None


average = Average()


def model():
    return nn.Sequential(nn.Linear(30, 50), nn.ReLU(), nn.Linear(50, 7))


def batch(n):
    return torch.randn(n, 30), torch.randint(0, 7, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    device = inputs.device
    for i in range(3):
        x = torch.randn(12, 30).to(device, non_blocking=True)
        y = torch.randint(0, 7, (12,)).cuda()
        weights = torch.rand(7)
        output = model(x)
        loss = F.cross_entropy(output, y, weight=weights.to(device=device, dtype=output.dtype))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        with torch.no_grad():
            if average.weights is None:
                average.weights = [p.detach().clone() for p in model.parameters()]
            for a, p in zip(average.weights, model.parameters()):
                a.mul_(0.9).add_(p * 0.1)
        optimizer.zero_grad()
    return loss


defaults = dict(batch=12)
