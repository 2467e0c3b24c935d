"""tests/programs/plain_loop.py - a plain training loop: a small network, AdamW, the loss printed at each step."""
import torch
from figures import figures

model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters())


def step():
    x = torch.randn(64, 256, device="cuda")
    y = torch.randint(0, 10, (64,), device="cuda")
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()  # the first read: line 16


for _ in range(3):
    step()
figures()
