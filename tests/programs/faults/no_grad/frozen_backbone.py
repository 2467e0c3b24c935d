"""tests/programs/faults/no_grad/frozen_backbone.py - features of a backbone that is not trained are computed with
autograd on."""
import torch
from torch import nn

backbone = nn.Sequential(*[layer for _ in range(5) for layer in (nn.Linear(1024, 1024), nn.GELU())]).cuda()
head = nn.Linear(1024, 10).cuda()
optimizer = torch.optim.Adam(head.parameters())
for _ in range(5):
    x = torch.randn(512, 1024, device="cuda")
    y = torch.randint(0, 10, (512,), device="cuda")
    features = backbone(x)  # fault: no_grad
    # repaired: with torch.no_grad(): features = backbone(x)
    loss = nn.functional.cross_entropy(head(features.detach()), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
