"""tests/oracle/distributed.py - one process of several under real PyTorch: rank 0 of `world`, with NCCL as its backend.

NCCL is simulated, too (see nogpu), so what runs is PyTorch's own ProcessGroupNCCL, reducer and wrappers; no
other process is needed, because a store in memory is enough for rank 0 to make its communicator.
"""
import torch
import torch.distributed as dist

import nogpu
import toggles as tg


def enter(world):
    """Makes the process group, and has the reducer read what the processes agree upon."""
    if not nogpu.active():
        raise tg.Refused("shard runs over the stand-in alone")
    dist.init_process_group("nccl", rank=0, world_size=world, store=dist.HashStore())
    plain = dist.Reducer._rebuild_buckets

    def rebuild(self):
        with nogpu.Values():
            return plain(self)

    dist.Reducer._rebuild_buckets = rebuild


def wrap(model, toggles):
    """The model as the loop gets it."""
    enter(toggles["world"])
    with nogpu.Values():
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
