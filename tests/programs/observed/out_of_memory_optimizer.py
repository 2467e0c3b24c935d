"""tests/programs/observed/out_of_memory_optimizer.py - memory runs out within an op that makes many tensors."""
import torch
from figures import figures

parameters = [torch.nn.Parameter(torch.ones(26 << 20, device="cuda")) for _ in range(25)]  # 2.5 GiB
for parameter in parameters:
    parameter.grad = torch.ones_like(parameter)
optimizer = torch.optim.AdamW(parameters, foreach=True)
try:
    optimizer.step()  # with gradients and two states 10.2 GiB; the square roots are 2.5 GiB more
except torch.cuda.OutOfMemoryError:
    print("OUT OF MEMORY")
figures()
