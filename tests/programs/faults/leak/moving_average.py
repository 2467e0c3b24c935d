"""tests/programs/faults/leak/moving_average.py - a moving average of an error that is a tensor with a history as
long as the training."""
import torch
from torch import nn


def train(model, steps):
    optimizer = torch.optim.Adam(model.parameters())
    average = torch.zeros((), device="cuda")
    for _ in range(steps):
        x = torch.randn(256, 256, device="cuda")
        output = model(x)
        loss = nn.functional.mse_loss(output, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        error = (output - x).abs().max()
        average = 0.9 * average + 0.1 * error  # fault: leak
        # repaired: average = 0.9 * average + 0.1 * error.detach()
    return average.item()


train(nn.Sequential(nn.Linear(256, 1024), nn.Sigmoid(), nn.Linear(1024, 256)).cuda(), 9)
