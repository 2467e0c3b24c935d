"""tests/programs/faults/no_grad/generation.py - tokens are generated with autograd on: the history grows with every
token."""
import torch
from torch import nn

embed = nn.Embedding(1000, 512).cuda()
cell = nn.GRUCell(512, 512).cuda()
head = nn.Linear(512, 1000).cuda()


def generate(length):
    token = torch.zeros(64, dtype=torch.long, device="cuda")
    h = torch.zeros(64, 512, device="cuda")
    for _ in range(length):
        h = cell(embed(token), h)  # fault: no_grad
        # repaired: with torch.no_grad(): h = cell(embed(token), h)
        token = head(h).argmax(1)
    return token


generate(24)
