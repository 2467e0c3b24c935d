"""tests/programs/faults/leak/default_argument.py - a mutable default argument, which all calls share."""
import torch
from torch import nn


def smooth(value, window=[]):
    window.append(value)  # fault: leak
    # repaired: window[:] = (window + [value])[-2:]
    return torch.stack(window[-2:]).mean(0)


model = nn.Linear(512, 512).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    x = torch.randn(256, 512, device="cuda")
    y = model(x)
    target = smooth(y.detach())
    loss = (y - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
