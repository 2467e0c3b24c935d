"""tests/programs/late_rank.py [gloo|nccl] - rank 0 waits in vain for rank 1: at a barrier, or to make a group. Run by
torchrun."""
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
kind = sys.argv[1] if len(sys.argv) > 1 else None
limit = datetime.timedelta(seconds=20)
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
# with a device, NCCL's groups are parts of the communicator of all ranks
dist.init_process_group("nccl" if kind == "nccl" else "cpu:gloo,cuda:nccl",
                        device_id=device if kind == "nccl" else None)
patience = None if kind else dist.new_group(backend="gloo", timeout=limit)
store = dist.distributed_c10d._get_default_store()
if rank == 0:
    try:
        if kind:
            dist.new_group([0, 1], backend=kind, timeout=limit)
            print("nobody was waited for")
        else:
            dist.barrier(patience)
    except RuntimeError:
        pass
    store.set("waited", "")
else:
    while not store.check(["waited"]):
        time.sleep(0.1)
torch.ones(4, device="cuda")
