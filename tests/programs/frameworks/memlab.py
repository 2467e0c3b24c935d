"""tests/programs/frameworks/memlab.py - pytorch-memlab's reporters; its figures are those of the allocator.

Prints what MemReporter counted, for the test to see.
"""
import torch
from figures import figures
from pytorch_memlab import LineProfiler, MemReporter
from torch import nn


def work(model):
    x = torch.randn(64, 512, device="cuda")
    y = model(x)
    y.sum().backward()
    return y


model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 64)).cuda()
MemReporter(model).report()
with LineProfiler(work) as profiler:
    output = work(model)
profiler.print_stats()
MemReporter(model).report(verbose=True)
figures()
