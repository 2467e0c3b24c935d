"""tests/programs/two_ranks.py - DistributedDataParallel: run by torchrun with two processes."""
import os

import torch
import torch.distributed as dist
from figures import figures
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
model = DistributedDataParallel(torch.nn.Linear(512, 512).cuda(), device_ids=[rank])
optimizer = torch.optim.Adam(model.parameters())
for _ in range(2):
    model(torch.randn(4, 512, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.all_reduce(torch.ones(3, device="cuda"))
dist.barrier()
figures()
dist.destroy_process_group()
