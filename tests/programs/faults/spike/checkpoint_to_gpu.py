"""tests/programs/faults/spike/checkpoint_to_gpu.py - a checkpoint is read to the GPU beside the model that it is
for."""
import os
import tempfile

import torch
from torch import nn


def network():
    return nn.Sequential(nn.Linear(2048, 4096), nn.ReLU(), nn.Linear(4096, 2048))


path = os.path.join(tempfile.mkdtemp(), "model.pt")
torch.save(network().state_dict(), path)
model = network().cuda()
state = torch.load(path, map_location="cuda")  # fault: spike
# repaired: state = torch.load(path, map_location="cpu")
model.load_state_dict(state)
del state
os.remove(path)
os.rmdir(os.path.dirname(path))
with torch.no_grad():
    for _ in range(3):
        model(torch.randn(32, 2048, device="cuda"))
