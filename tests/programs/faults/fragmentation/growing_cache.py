"""tests/programs/faults/fragmentation/growing_cache.py - a cache of keys that grows by torch.cat: every length needs
a block that fits nowhere among the old ones."""
import torch
from torch import nn

project = nn.Linear(1024, 1024).cuda()
keys = torch.empty(16, 0, 1024, device="cuda")
kept = torch.empty(16, 512, 1024, device="cuda")
with torch.no_grad():
    for step in range(96):
        k = project(torch.randn(16, 4, 1024, device="cuda"))
        keys = torch.cat([keys, k], 1)  # fault: fragmentation
        # repaired: kept[:, step * 4:step * 4 + 4] = k; keys = kept[:, :step * 4 + 4]
        (keys.mean(1)).sum()
