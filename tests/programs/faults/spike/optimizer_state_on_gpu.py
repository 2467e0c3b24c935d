"""tests/programs/faults/spike/optimizer_state_on_gpu.py - training goes on from a checkpoint whose optimizer state
is read to the GPU and copied there."""
import io

import torch
from torch import nn


def training():
    model = nn.Linear(2048, 2048).cuda()
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def step(model, optimizer):
    loss = model(torch.randn(16, 2048, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


model, optimizer = training()
step(model, optimizer)
file = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
del model, optimizer
file.seek(0)
checkpoint = torch.load(file, map_location="cuda")  # fault: spike
# repaired: checkpoint = torch.load(file, map_location="cpu")
model, optimizer = training()
model.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
for _ in range(3):
    step(model, optimizer)
