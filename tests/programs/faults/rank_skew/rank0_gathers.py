"""tests/programs/faults/rank_skew/rank0_gathers.py - the first rank gathers the logits of all ranks, and keeps them."""
import os

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = nn.Linear(1024, 4096).cuda()
with torch.no_grad():
    for _ in range(4):
        logits = model(torch.randn(512, 1024, device="cuda"))
        if rank == 0:
            parts = [torch.empty_like(logits) for _ in range(world)]  # fault: rank_skew
            # repaired: parts = [logits for _ in range(world)]
            dist.gather(logits, parts)
        else:
            dist.gather(logits)
dist.destroy_process_group()
