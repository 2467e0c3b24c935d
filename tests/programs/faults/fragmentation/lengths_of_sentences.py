"""tests/programs/faults/fragmentation/lengths_of_sentences.py - batches as long as their longest sentence: no block
fits the next batch."""
import random

import torch
from torch import nn

random.seed(0)
model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(40):
    x = torch.randn(16, random.randint(64, 512), 512, device="cuda")  # fault: fragmentation
    # repaired: x = torch.randn(16, 512, 512, device="cuda")
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
