"""tests/programs/observed/reused.py - a checkpoint is gone, and later ones have Python objects at the same places;
their second runs begin before any backward, because the program reads what a node has saved.

REUSED: how often an object took the place of one that is gone.
"""
import gc

import torch
from figures import figures
from torch.utils import checkpoint


def many(x):
    for _ in range(50):
        x = x.sin()
    return x


def forward():
    x = torch.randn(256, device="cuda", requires_grad=True)
    return checkpoint.checkpoint(many, x, use_reentrant=False)


def holders():
    return {id(found) for found in gc.get_objects() if type(found) is checkpoint._Holder}


gc.disable()
y = forward()
places = holders()
y.sum().backward(retain_graph=True)
del y
torch.zeros(1, device="cuda")  # after the last backward
count = 0
for _ in range(3):
    y = forward()
    count += len(places & holders())
    y.grad_fn._saved_self
    del y
print("REUSED", count)
figures()
