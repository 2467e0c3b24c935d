"""tests/programs/faults/leak/cached_masks.py - a cache without a bound: each length of a sequence adds a mask that
stays."""
import functools

import torch
from torch import nn


@functools.lru_cache(maxsize=None)
def mask(length):
    return torch.full((length, length), float("-inf"), device="cuda").triu(1)  # fault: leak
    # repaired: return torch.full((length, length), float("-inf")).triu(1)


attention = nn.MultiheadAttention(128, 4, batch_first=True).cuda()
optimizer = torch.optim.Adam(attention.parameters())
for step in range(9):
    length = 256 + 16 * step
    x = torch.randn(2, length, 128, device="cuda")
    y, _ = attention(x, x, x, attn_mask=mask(length).cuda())
    loss = (y - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
