"""tests/programs/faults/leak/kept_errors.py - errors are collected with their tracebacks, whose frames hold all
local tensors."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
errors = []


def check(loss, step):
    if step % 2 == 0:
        raise ValueError("step %d is suspicious" % step)


def train_step(step):
    x = torch.randn(128, 1024, device="cuda")
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    check(loss, step)


for step in range(12):
    try:
        train_step(step)
    except ValueError as error:
        errors.append(error)  # fault: leak
        # repaired: errors.append(str(error))
