"""tests/programs/faults/cycle/module_and_owner.py - a head is made for each episode, and it knows the agent that has
it."""
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, agent):
        super().__init__()
        self.linear = nn.Linear(1024, 1024, device="cuda")
        self.agent = agent


class Agent:
    def __init__(self):
        self.head = Head(self)  # fault: cycle
        # repaired: self.head = Head(None)

    def play(self, x):
        return self.head.linear(x).argmax(1)


with torch.no_grad():
    for _ in range(10):
        Agent().play(torch.randn(64, 1024, device="cuda"))
