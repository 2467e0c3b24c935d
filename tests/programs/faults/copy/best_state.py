"""tests/programs/faults/copy/best_state.py - the best checkpoint so far is kept on the GPU, beside the model."""
import copy

import torch
from torch import nn

model = nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 16)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
lowest = float("inf")
for epoch in range(6):
    x = torch.randn(64, 2048, device="cuda")
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    value = loss.item() + 6 - epoch
    if value < lowest:
        lowest = value
        best = copy.deepcopy(model.state_dict())  # fault: copy
        # repaired: best = {k: v.cpu() for k, v in model.state_dict().items()}
