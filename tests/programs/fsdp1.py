"""tests/programs/fsdp1.py [mixed] [offload] - FullyShardedDataParallel: each block a unit of its own; with parameters
in bfloat16, or in the host's memory. Run by torchrun.
"""
import functools
import os
import sys

import torch
import torch.distributed as dist
from figures import figures
from torch import nn
from torch.distributed.fsdp import CPUOffload, FullyShardedDataParallel, MixedPrecision
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mixed = MixedPrecision(torch.bfloat16, torch.bfloat16, torch.bfloat16) if "mixed" in sys.argv else None
layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
model = FullyShardedDataParallel(
    nn.Sequential(nn.Embedding(1000, 128), nn.TransformerEncoder(layer, 4), nn.Linear(128, 1000)),
    auto_wrap_policy=functools.partial(transformer_auto_wrap_policy,
                                       transformer_layer_cls={nn.TransformerEncoderLayer}),
    mixed_precision=mixed, cpu_offload=CPUOffload("offload" in sys.argv), device_id=torch.cuda.current_device(),
    use_orig_params=True, limit_all_gathers=True)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    x = torch.randint(0, 1000, (4, 64), device="cuda")
    nn.functional.cross_entropy(model(x).flatten(0, 1).float(), x.flatten()).backward()
    model.clip_grad_norm_(1.0)
    optimizer.step()
    optimizer.zero_grad()
figures()
dist.destroy_process_group()
