"""tests/programs/mem_track.py - counts the tensors that are alive, as the tools do that walk Python's objects.

TRACK ALLOCATIONS FREES BYTES TENSORS: so many calls of the allocator until then, and what it and the tensors hold. The
test compares the third with the trace after as many events.
"""
import gc

import torch
from figures import figures
from torch import nn


def track():
    storages = {}
    for each in gc.get_objects():
        if isinstance(each, torch.Tensor) and each.is_cuda:
            for t in (each, each.grad if each.is_leaf else None):
                if t is not None:
                    storages[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
    stats = torch.cuda.memory_stats()
    print("TRACK", stats["allocation.all.allocated"], stats["allocation.all.freed"], torch.cuda.memory_allocated(),
          sum(-(-n // 512) * 512 for n in storages.values()))


model = nn.Sequential(nn.Linear(300, 500), nn.ReLU(), nn.Linear(500, 10)).cuda()
track()
optimizer = torch.optim.SGD(model.parameters(), momentum=0.9, foreach=False)
x = torch.randn(70, 300, device="cuda")
track()
for _ in range(2):
    y = model(x)
    track()
    optimizer.zero_grad()
    y.sum().backward()
    track()
    optimizer.step()
    track()
del x, y
track()
figures()
