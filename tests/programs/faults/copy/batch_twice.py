"""tests/programs/faults/copy/batch_twice.py - a batch is brought to the GPU twice: once for the model, and once for
the loss."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4096, 512), nn.ReLU(), nn.Linear(512, 4096)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.randn(6, 1024, 4096)
for batch in data:
    x = batch.to("cuda")
    output = model(x)
    target = batch.to("cuda")  # fault: copy
    # repaired: target = x
    loss = (output - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
