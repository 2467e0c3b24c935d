"""tests/programs/faults/spike/shards_at_once.py - all shards of a checkpoint are on the GPU before the first is
copied into the model."""
import torch
from torch import nn


def shard(i):
    return {"%d.weight" % i: torch.randn(2048, 2048), "%d.bias" % i: torch.zeros(2048)}


model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(6)]).cuda()
state = {}
for i in range(6):
    state.update({name: value.cuda() for name, value in shard(i).items()})  # fault: spike
    # repaired: state.update(shard(i))
model.load_state_dict(state)
del state
with torch.no_grad():
    for _ in range(3):
        model(torch.randn(16, 2048, device="cuda"))
