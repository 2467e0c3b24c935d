"""tests/programs/faults/view/first_samples.py - one sample of every batch is put aside for a picture: a view of the
whole batch."""
import torch
from torch import nn

model = nn.Conv2d(3, 8, 3, padding=1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
samples = []
for _ in range(8):
    images = torch.rand(32, 3, 64, 64, device="cuda")
    loss = model(images).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    samples.append(images[0])  # fault: view
    # repaired: samples.append(images[0].cpu())
