"""tests/programs/faults/spike/halved_on_gpu.py - a model is moved to the GPU in float32 and halved there, instead of
the other way round."""
import torch
from torch import nn

model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(6)])
model = model.cuda().half()  # fault: spike
# repaired: model = model.half().cuda()
with torch.no_grad():
    for _ in range(3):
        model(torch.randn(16, 2048, device="cuda", dtype=torch.float16))
