"""tests/programs/faults/cycle/hook_of_output.py - a hook on an activation that refers to that activation."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(512, 1024), nn.Linear(1024, 256)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step():
    x = torch.randn(256, 512, device="cuda")
    hidden = model[0](x)
    hidden.register_hook(lambda grad: grad / hidden.shape[0])  # fault: cycle
    # repaired: hidden.register_hook(lambda grad: grad / 256)
    loss = model[1](hidden).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for _ in range(10):
    step()
