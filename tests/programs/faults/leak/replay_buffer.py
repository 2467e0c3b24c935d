"""tests/programs/faults/leak/replay_buffer.py - a buffer of an agent that keeps observations on the GPU and is never
cut."""
import torch
from torch import nn


class Buffer:
    def __init__(self):
        self.items = []

    def add(self, observation, action):
        self.items.append((observation, action))  # fault: leak
        # repaired: self.items = [(observation, action)]

    def sample(self):
        return self.items[-1]


policy = nn.Sequential(nn.Linear(2048, 256), nn.Tanh(), nn.Linear(256, 8)).cuda()
optimizer = torch.optim.RMSprop(policy.parameters())
buffer = Buffer()
for _ in range(8):
    observation = torch.randn(64, 2048, device="cuda")
    with torch.no_grad():
        action = policy(observation).argmax(1)
    buffer.add(observation, action)
    seen, taken = buffer.sample()
    loss = nn.functional.cross_entropy(policy(seen), taken)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
