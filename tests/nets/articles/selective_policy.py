# Selective checkpointing with a policy that counts: every second matrix product is saved, and all convolutions; it
# looks at shapes, too.
from functools import partial

import torch
import torch.nn as nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts


def make_policy():
    count = [0]

    def policy(ctx, op, *args, **kwargs):
        if op == torch.ops.aten.convolution.default:
            return CheckpointPolicy.MUST_SAVE
        if op in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default):
            count[0] += 1
            return CheckpointPolicy.MUST_SAVE if count[0] % 2 == 0 else CheckpointPolicy.PREFER_RECOMPUTE
        if op == torch.ops.aten.relu.default and args[0].shape[1] == 12:
            return CheckpointPolicy.PREFER_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def contexts():
    return create_selective_checkpoint_contexts(make_policy())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(),
                                   nn.Conv2d(12, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Dropout(0.2))
        self.back = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(),
                                  nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 10))

    def forward(self, x):
        x = checkpoint(self.front, x, use_reentrant=False, context_fn=contexts)
        x = x.mean((2, 3))
        return checkpoint(self.back, x, use_reentrant=False, context_fn=contexts)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 16, 16), torch.randint(0, 10, (n,))


defaults = dict(batch=8, steps=2)
