"""tests/programs/faults/leak/late_callbacks.py - callbacks for the end of an epoch, each of which closes over a
batch of its own."""
import torch
from torch import nn


def train(steps):
    model = nn.Linear(1024, 1024).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    at_end = []

    def step():
        x = torch.randn(128, 1024, device="cuda")
        error = (model(x) - x).detach()
        loss = (model(x) - x).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        at_end.append(lambda: error.abs().max().item())  # fault: leak
        # repaired: at_end[:] = [lambda: error.abs().max().item()]

    for _ in range(steps):
        step()
    return [callback() for callback in at_end]


train(8)
