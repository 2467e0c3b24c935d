"""tests/programs/observed/dropped.py - what a compiled function holds is freed when the program drops it.

Up to PyTorch 2.4 such a function holds the parameters of its module. This backend needs neither Triton nor a compiler.
"""
import gc

import torch
from figures import figures
from torch import nn


def backend(graph, inputs):
    held = torch.empty(1 << 20, device="cuda")

    def run(*args):
        assert held.is_cuda
        return graph(*args)

    return run


def train(count):
    model = nn.Linear(1024, count, device="cuda")
    compiled = torch.compile(model, backend=backend)
    for _ in range(2):
        compiled(torch.ones(8, 1024, device="cuda")).sum().backward()


def allocated():
    gc.collect()
    return torch.cuda.memory_allocated()


nn.Linear(1024, 16, device="cuda")(torch.ones(8, 1024, device="cuda")).sum().backward()  # libraries have workspaces now
first = allocated()
is_dropped_with_module = torch.__version__.startswith(("2.3.", "2.4."))
for count in (1024, 2048, 4096):
    train(count)
    if not is_dropped_with_module:
        torch._dynamo.reset()
    assert allocated() == first, (count, allocated(), first)
figures()
