"""tests/programs/observed/stopped.py KIND - a checkpoint whose second run ends in a convolution, in a product, or after
tanh.
"""
import sys

import torch
from figures import figures
from torch import nn
from torch.utils.checkpoint import checkpoint

BLOCKS = {
    "conv": lambda: nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1)),
    "linear": lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)),
    "tanh": lambda: nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Tanh()),
}
kind = sys.argv[1]
block = BLOCKS[kind]().cuda()
x = torch.ones((2, 4, 16, 16) if kind == "conv" else (2, 64), device="cuda", requires_grad=True)
checkpoint(block, x, use_reentrant=False).sum().backward()
figures()
