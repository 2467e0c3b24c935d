"""tests/programs/faults/view/third_of_projection.py - queries, keys and values are one product; the keys alone are
cached, and hold all three."""
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(256, 768)
        self.keys = []

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        self.keys.append(k[:, -1:])  # fault: view
        # repaired: self.keys.append(k[:, -1:].cpu())
        return nn.functional.scaled_dot_product_attention(q, k, v)


attention = Attention().cuda()
with torch.no_grad():
    for _ in range(8):
        attention(torch.randn(8, 128, 256, device="cuda"))
