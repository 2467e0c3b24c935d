"""tests/programs/faults/leak/carried_state.py - truncated backpropagation through time that was not truncated: the
state carries the graph of all earlier chunks."""
import torch
from torch import nn

cell = nn.RNNCell(128, 512).cuda()
head = nn.Linear(512, 128).cuda()
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.0)
state = torch.zeros(64, 512, device="cuda")
for _ in range(8):
    chunk = torch.randn(4, 64, 128, device="cuda")
    loss, h = 0, state
    for x in chunk:
        h = cell(x, h)
        loss = loss + head(h).square().mean()
    loss.backward(retain_graph=True)
    state = h  # fault: leak
    # repaired: state = h.detach()
optimizer.step()
