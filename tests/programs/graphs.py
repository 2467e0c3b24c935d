"""tests/programs/graphs.py - CUDA graphs and a memory pool of the program's own.

What make_graphed_callables makes is a reference cycle with memory of the GPU. It stays to the end, whoever makes how
many objects meanwhile.
"""
import gc

import torch
from figures import figures

gc.disable()
model = torch.nn.Linear(64, 64).cuda()
x = torch.randn(8, 64, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        model(x).sum().backward()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = model(x)
graph.replay()
torch.cuda.make_graphed_callables(torch.nn.Linear(64, 64).cuda(), (x,))(x).sum().backward()
if hasattr(torch.cuda, "use_mem_pool"):  # since PyTorch 2.5
    with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
        z = torch.empty(1 << 20, device="cuda")
figures()
