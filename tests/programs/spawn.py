"""tests/programs/spawn.py RANKS - DistributedDataParallel whose ranks torch.multiprocessing starts: their environment
has no RANK. Rank 0 keeps a copy of the weights, as for an average of them.
"""
import copy
import socket
import sys

import torch
import torch.distributed as dist
from figures import figures
from torch import nn


def train(rank, world, port):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    model = nn.parallel.DistributedDataParallel(nn.Linear(512, 512).cuda(), device_ids=[rank])
    average = copy.deepcopy(model.module) if rank == 0 else None
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        model(torch.randn(4, 512, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    if average:
        dist.broadcast(torch.ones(3, device="cuda"), 0)
    else:
        dist.broadcast(torch.zeros(3, device="cuda"), 0)
    figures()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    world = int(sys.argv[1])
    torch.multiprocessing.spawn(train, (world, port), world)
