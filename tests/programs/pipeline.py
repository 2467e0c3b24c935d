"""tests/programs/pipeline.py [infer] - a pipeline with a stage for each rank, 1F1B over 8 microbatches; shapes are
given, or stages send them to each other. Run by torchrun.
"""
import os
import sys

import torch
import torch.distributed as dist
from figures import figures
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
layers = [nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True) for _ in range(2)]
x = torch.randn(32, 16, 64, device=device)
shapes = {"input_args": x[:4].requires_grad_(rank > 0), "output_args": torch.empty_like(x[:4]).requires_grad_()}
if "infer" in sys.argv:
    shapes = {}
stage = PipelineStage(nn.Sequential(*layers).to(device), rank, dist.get_world_size(), device, **shapes)
schedule = Schedule1F1B(stage, 8, nn.functional.mse_loss)
optimizer = torch.optim.Adam(stage.submod.parameters())
for _ in range(2):
    optimizer.zero_grad()
    if rank == 0:
        schedule.step(x)
    elif rank == dist.get_world_size() - 1:
        schedule.step(target=torch.randn(32, 16, 64, device=device))
    else:
        schedule.step()
    optimizer.step()
figures()
dist.destroy_process_group()
