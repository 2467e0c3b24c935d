"""tests/programs/ranks.py KIND - one way to train a small model over several ranks; each rank prints its peaks.

Run by torchrun, or as one rank of many.
"""
import os
import sys

import torch
import torch.distributed as dist
from figures import figures
from torch import nn


def model():
    layers = [nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)) for _ in range(3)]
    return nn.Sequential(*layers).cuda()


def ddp():
    return nn.parallel.DistributedDataParallel(model(), device_ids=[torch.cuda.current_device()])


def zero():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    net = ddp()
    return net, ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=1e-3)


def mesh():
    """Sharded over one dimension of a mesh, in parallel tensors over the other."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    grid = init_device_mesh("cuda", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "tp"))
    net = model()
    for layer in net:
        parallelize_module(layer, grid["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
        fully_shard(layer, mesh=grid["dp"])
    return net


def main():
    kind = sys.argv[1]
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("cpu:gloo,cuda:nccl", device_id=torch.device("cuda", torch.cuda.current_device()))
    group = dist.new_group(list(range(dist.get_world_size())))
    made = globals()[kind]()
    net, optimizer = made if isinstance(made, tuple) else (made, torch.optim.Adam(made.parameters()))
    for _ in range(3):
        loss = net(torch.randn(16, 256, device="cuda")).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(loss.detach(), group=group)
    dist.all_reduce(torch.ones(1))
    dist.barrier()
    figures()
    dist.destroy_process_group()


main()
