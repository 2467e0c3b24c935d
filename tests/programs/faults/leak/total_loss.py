"""tests/programs/faults/leak/total_loss.py - adds up an error over an epoch, with the autograd history of every
step."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
total_error = 0.0
for step in range(8):
    x = torch.randn(256, 512, device="cuda")
    output = model(x)
    loss = (output - x).pow(2).mean()
    error = (output - x).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total_error += error  # fault: leak
    # repaired: total_error += error.item()
print(float(total_error) / 8)
