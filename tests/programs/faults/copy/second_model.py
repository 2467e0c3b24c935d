"""tests/programs/faults/copy/second_model.py - an average of the weights is kept on the GPU during training, where
it is used only at the end."""
import copy

import torch
from torch import nn

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
best = copy.deepcopy(model)  # fault: copy
# repaired: best = copy.deepcopy(model).cpu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    x = torch.randn(64, 1024, device="cuda")
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
