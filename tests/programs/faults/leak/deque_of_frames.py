"""tests/programs/faults/leak/deque_of_frames.py - a window of frames whose bound was forgotten."""
from collections import deque

import torch
from torch import nn

frames = deque()
model = nn.Conv2d(12, 8, 3).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    frame = torch.rand(1, 3, 128, 128, device="cuda")
    frames.append(frame)  # fault: leak
    # repaired: frames.append(frame); len(frames) > 4 and frames.popleft()
    if len(frames) < 4:
        continue
    window = torch.cat([frames[-4], frames[-3], frames[-2], frames[-1]], 1)
    loss = model(window).relu().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
