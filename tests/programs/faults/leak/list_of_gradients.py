"""tests/programs/faults/leak/list_of_gradients.py - copies of all gradients are kept for a plot that needs only
their norms."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
gradients = []
for _ in range(8):
    x = torch.randn(64, 256, device="cuda")
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        gradients.append(parameter.grad.clone())  # fault: leak
        # repaired: gradients.append(parameter.grad.norm().item())
    optimizer.step()
