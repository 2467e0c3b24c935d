"""tests/programs/faults/rank_skew/rank0_validates.py - the first rank alone validates, with a larger batch than it
trains with."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = DistributedDataParallel(nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(64, 512, device="cuda")
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if dist.get_rank() == 0:
        with torch.no_grad():
            x = torch.randn(8192, 512, device="cuda")  # fault: rank_skew
            # repaired: x = torch.randn(64, 512, device="cuda")
            model.module(x).square().mean().item()
    dist.barrier()
dist.destroy_process_group()
