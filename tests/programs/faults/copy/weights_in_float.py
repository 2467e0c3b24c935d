"""tests/programs/faults/copy/weights_in_float.py - a model in bfloat16 whose float32 weights stay on the GPU, too."""
import torch
from torch import nn

full = nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 2048)).cuda()  # fault: copy
# repaired: full = nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 2048))
state = {name: value.bfloat16().cuda() for name, value in full.state_dict().items()}
model = nn.Sequential(nn.Linear(2048, 4096), nn.GELU(), nn.Linear(4096, 2048)).to("meta")
model.load_state_dict(state, assign=True)
with torch.no_grad():
    for _ in range(5):
        model(torch.randn(32, 2048, device="cuda", dtype=torch.bfloat16))
