"""tests/programs/host_blocks.py - frees memory of the host that was there before CUDA was used, while Python and
PyTorch print warnings of their own."""
import warnings

import torch
from figures import figures
from torch import nn
from torch._subclasses import FakeTensorMode

early = [torch.randn(64, 64) for _ in range(3000)]
model = nn.Linear(64, 64)
x = early[0].cuda()
model.cuda()(x).sum().backward()
early.clear()
with FakeTensorMode():
    fake = torch.zeros(4, device="cuda")  # as a compiler has them: without memory
torch.frombuffer(b"read-only", dtype=torch.uint8)
warnings.warn("the program's own warning")
del model
figures()
