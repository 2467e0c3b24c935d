"""tests/programs/late_rank.py - rank 1 comes to a barrier when rank 0 has waited there in vain. Run by torchrun."""
import datetime
import os
import time

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:nccl")
patience = dist.new_group(backend="gloo", timeout=datetime.timedelta(seconds=20))
store = dist.distributed_c10d._get_default_store()
if rank == 0:
    try:
        dist.barrier(patience)
    except RuntimeError:
        store.set("waited", "")
else:
    while not store.check(["waited"]):
        time.sleep(0.1)
torch.ones(4, device="cuda")
