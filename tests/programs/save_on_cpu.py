"""tests/programs/save_on_cpu.py - saved tensors go to the host, plain and pinned, and come back for backward."""
import torch
from figures import figures
from torch import nn

model = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(512, 512), nn.GELU()))).cuda()
optimizer = torch.optim.Adam(model.parameters())
for pinned in (False, True):
    with torch.autograd.graph.save_on_cpu(pin_memory=pinned):
        loss = model(torch.randn(256, 512, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
with torch.autograd.graph.saved_tensors_hooks(lambda x: x.half(), lambda x: x.float()):
    loss = model(torch.randn(256, 512, device="cuda")).square().mean()
loss.backward()
figures()
