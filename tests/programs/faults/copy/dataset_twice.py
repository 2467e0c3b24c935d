"""tests/programs/faults/copy/dataset_twice.py - a dataset on the GPU, and its normalised copy: the first is never
read again."""
import torch
from torch import nn

raw = torch.rand(512, 3, 64, 64, device="cuda")
images = (raw - 0.5) / 0.25  # fault: copy
# repaired: images = raw.sub_(0.5).div_(0.25)
model = nn.Conv2d(3, 8, 3, stride=4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(6):
    loss = model(images[64 * i:64 * i + 64]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
