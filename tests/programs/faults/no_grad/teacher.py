"""tests/programs/faults/no_grad/teacher.py - distillation: the teacher's pass keeps its activations though nobody
trains it."""
import torch
from torch import nn


def network(width):
    inner = nn.Sequential(nn.Linear(width, width), nn.GELU())
    return nn.Sequential(nn.Linear(512, width), nn.GELU(), inner, nn.Linear(width, 100)).cuda()


teacher, student = network(4096).eval(), network(256)
optimizer = torch.optim.AdamW(student.parameters())
for _ in range(5):
    x = torch.randn(256, 512, device="cuda")
    target = teacher(x).softmax(1)  # fault: no_grad
    # repaired: with torch.no_grad(): target = teacher(x).softmax(1)
    loss = nn.functional.kl_div(student(x).log_softmax(1), target.detach())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
