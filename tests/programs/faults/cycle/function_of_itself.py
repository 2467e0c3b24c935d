"""tests/programs/faults/cycle/function_of_itself.py - an object that keeps a function which refers to the object."""
import torch
from torch import nn


class Lazy:
    def __init__(self, x):
        self.x = x
        self.mean = lambda: self.x.mean()  # fault: cycle
        # repaired: self.mean = lambda x=x: x.mean()


model = nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(12):
    x = torch.randn(256, 1024, device="cuda")
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lazy = Lazy(x * 2)
    lazy.mean()
