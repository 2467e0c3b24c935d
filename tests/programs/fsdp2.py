"""tests/programs/fsdp2.py [mixed] [offload] [keep] - fully_shard, block by block; keep: parameters stay whole after
forward. Run by torchrun.
"""
import os
import sys

import torch
import torch.distributed as dist
from figures import figures
from torch import nn
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard

dist.init_process_group("cpu:gloo,cuda:nccl" if "offload" in sys.argv else "nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
how = {
    "reshard_after_forward": "keep" not in sys.argv,
    "mp_policy": MixedPrecisionPolicy(torch.bfloat16, torch.float32) if "mixed" in sys.argv else MixedPrecisionPolicy(),
    "offload_policy": CPUOffloadPolicy() if "offload" in sys.argv else OffloadPolicy(),
}
with torch.device("meta"):
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.Embedding(1000, 128), nn.TransformerEncoder(layer, 4), nn.Linear(128, 1000))
for block in model[1].layers:
    fully_shard(block, **how)
fully_shard(model, **how)
model.to_empty(device="cpu" if "offload" in sys.argv else "cuda")
for p in model.parameters():
    nn.init.normal_(p, std=0.02)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    x = torch.randint(0, 1000, (4, 64), device="cuda")
    nn.functional.cross_entropy(model(x).flatten(0, 1).float(), x.flatten()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
figures()
dist.destroy_process_group()
