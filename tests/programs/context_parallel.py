"""tests/programs/context_parallel.py - attention over a sequence that is split between the ranks. Run by torchrun."""
import os

import torch
import torch.distributed as dist
from figures import figures
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel
from torch.nn.attention import SDPBackend, sdpa_kernel

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
project, back = nn.Linear(64, 192).to("cuda", torch.bfloat16), nn.Linear(64, 64).to("cuda", torch.bfloat16)
for _ in range(2):
    x = torch.randn(2, 256, 64, device="cuda", dtype=torch.bfloat16)
    with context_parallel(mesh, buffers=[x], buffer_seq_dims=[1]), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        q, k, v = (t.unflatten(-1, (4, 16)).transpose(1, 2) for t in project(x).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        back(y.transpose(1, 2).flatten(2)).sum().backward()
figures()
dist.destroy_process_group()
