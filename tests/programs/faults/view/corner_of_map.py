"""tests/programs/faults/view/corner_of_map.py - the worst pixel's neighbourhood is kept from each loss map."""
import torch
from torch import nn

model = nn.Conv2d(3, 3, 3, padding=1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
worst = {}
for step in range(8):
    x = torch.rand(8, 3, 128, 128, device="cuda")
    errors = (model(x) - x).square()
    optimizer.zero_grad()
    errors.mean().backward()
    optimizer.step()
    worst[step] = errors.detach()[0, 0, :8, :8]  # fault: view
    # repaired: worst[step] = errors.detach()[0, 0, :8, :8].cpu()
