"""tests/programs/missing_rank.py - rank 1 ends before a collective that rank 0 waits for."""
import os
import subprocess
import sys

import torch
import torch.distributed as dist

rank = int(sys.argv[1]) if len(sys.argv) > 1 else 0
port = sys.argv[2] if rank else "0"
if rank == 0:  # a port that is free, and stays with this process
    store = dist.TCPStore("127.0.0.1", 0, 2, True, wait_for_workers=False)
    port = str(store.port)
    environment = dict(os.environ, RANK="1")
    other = subprocess.Popen([sys.executable, __file__, "1", port], env=environment)
else:
    store = dist.TCPStore("127.0.0.1", int(port), 2, False, wait_for_workers=False)
torch.cuda.set_device(rank)
dist.init_process_group("nccl", store=store, rank=rank, world_size=2)
count = torch.ones(4, device="cuda")
dist.all_reduce(count)
torch.cuda.synchronize()
if rank == 1:
    sys.exit(0)
other.wait()
dist.all_reduce(count)
try:
    torch.cuda.synchronize()
except RuntimeError as e:
    print(e, flush=True)
    sys.exit(3)
