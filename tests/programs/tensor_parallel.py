"""tests/programs/tensor_parallel.py - DTensor: linear layers split by columns and rows, norms by the sequence. Run by
torchrun.
"""
import os

import torch
import torch.distributed as dist
from figures import figures
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel, SequenceParallel, loss_parallel,
                                               parallelize_module)


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.up = nn.Linear(size, 4 * size)
        self.down = nn.Linear(4 * size, size)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
model = nn.Sequential(nn.Embedding(1000, 128), Block(128), Block(128), nn.LayerNorm(128), nn.Linear(128, 1000)).cuda()
plan = {"0": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "3": SequenceParallel(),
        "4": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)}
for i in "12":
    plan.update({i + ".norm": SequenceParallel(),
                 i + ".up": ColwiseParallel(input_layouts=Shard(1)),
                 i + ".down": RowwiseParallel(output_layouts=Shard(1))})
model = parallelize_module(model, mesh, plan)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    x = torch.randint(0, 1000, (4, 64), device="cuda")
    y = model(x)
    with loss_parallel():
        nn.functional.cross_entropy(y.flatten(0, 1), x.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
figures()
dist.destroy_process_group()
