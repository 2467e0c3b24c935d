"""tests/programs/selective_checkpoint.py - activation checkpointing: of whole blocks, in both implementations, and of
some operators alone.
"""
import torch
from figures import figures
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

SAVED = {torch.ops.aten.mm.default, torch.ops.aten.addmm.default}


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.attention = nn.MultiheadAttention(size, 4, dropout=0.1, batch_first=True)
        self.mlp = nn.Sequential(nn.LayerNorm(size), nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(x)


def policy(context, op, *args, **kwargs):
    return CheckpointPolicy.MUST_SAVE if op in SAVED else CheckpointPolicy.PREFER_RECOMPUTE


WAYS = ({"use_reentrant": True}, {"use_reentrant": False},
        {"use_reentrant": False, "context_fn": lambda: create_selective_checkpoint_contexts(policy)})
blocks = nn.ModuleList(Block(128) for _ in range(4)).cuda()
for way in WAYS:
    x = torch.randn(8, 64, 128, device="cuda", requires_grad=True)
    for block in blocks:
        x = checkpoint(block, x, **way)
    x.sum().backward()
figures()
