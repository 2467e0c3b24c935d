"""tests/programs/frameworks/bitsandbytes_adam.py - Adam with states of 8 bits, plain and paged, and a 4-bit layer."""
import bitsandbytes
import torch
from figures import figures
from torch import nn

for kind in (bitsandbytes.optim.AdamW8bit, bitsandbytes.optim.PagedAdamW8bit):
    model = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 512)).cuda()
    optimizer = kind(model.parameters(), lr=1e-3)
    for _ in range(3):
        model(torch.randn(16, 512, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
layer = bitsandbytes.nn.Linear4bit(256, 256, compute_dtype=torch.bfloat16, quant_type="nf4").cuda()
layer(torch.randn(4, 256, device="cuda", dtype=torch.bfloat16, requires_grad=True)).sum().backward()
figures()
