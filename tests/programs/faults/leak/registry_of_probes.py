"""tests/programs/faults/leak/registry_of_probes.py - a class that registers each of its objects, and a probe is made
in each step."""
import torch
from torch import nn


class Probe:
    instances = []

    def __init__(self, activation):
        self.activation = activation
        Probe.instances.append(self)  # fault: leak
        # repaired: Probe.instances = [self]

    def norm(self):
        return self.activation.norm()


encoder = nn.Linear(512, 1024).cuda()
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
for _ in range(8):
    hidden = encoder(torch.randn(128, 512, device="cuda")).relu()
    probe = Probe(hidden.detach())
    loss = hidden.mean() + probe.norm() * 0
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
