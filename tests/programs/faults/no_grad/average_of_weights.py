"""tests/programs/faults/no_grad/average_of_weights.py - an exponential average of the weights that autograd follows:
its history holds the weights of all steps."""
import torch
from torch import nn


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    average = {name: p.detach().clone() for name, p in model.named_parameters()}
    for _ in range(steps):
        x = torch.randn(64, 512, device="cuda")
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for name, p in model.named_parameters():
            average[name] = average[name] * 0.9 + p * p * 0.1  # fault: no_grad
            # repaired: average[name] = average[name] * 0.9 + p.detach() * p.detach() * 0.1


train(nn.Linear(512, 512).cuda(), 8)
