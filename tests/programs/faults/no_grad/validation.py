"""tests/programs/faults/no_grad/validation.py - validation in eval mode, which does not switch autograd off."""
import torch
from torch import nn

model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(1024, 1024), nn.GELU())]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(128, 1024, device="cuda")
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
worst = 0.0
for _ in range(4):
    x = torch.randn(1024, 1024, device="cuda")
    output = model(x)  # fault: no_grad
    # repaired: with torch.no_grad(): output = model(x)
    worst = max(worst, (output - x).abs().max().item())
