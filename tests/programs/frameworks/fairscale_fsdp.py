"""tests/programs/frameworks/fairscale_fsdp.py - FairScale's FullyShardedDataParallel, blocks wrapped, mixed precision.
Run by torchrun.
"""
import os

import torch
import torch.distributed as dist
from fairscale.nn import FullyShardedDataParallel, checkpoint_wrapper, enable_wrap, wrap
from figures import figures
from torch import nn

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


def block():
    return nn.Sequential(nn.LayerNorm(128), nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))


with enable_wrap(wrapper_cls=FullyShardedDataParallel, mixed_precision=True, flatten_parameters=True):
    blocks = [wrap(checkpoint_wrapper(block())) for _ in range(3)]
    model = nn.Sequential(nn.Linear(64, 128), *blocks, nn.Linear(128, 10))
    model = FullyShardedDataParallel(model, mixed_precision=True).cuda()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(2):
    model(torch.randn(16, 64, device="cuda")).float().sum().backward()
    model.clip_grad_norm_(1.0)
    optimizer.step()
    optimizer.zero_grad()
figures()
dist.destroy_process_group()
