"""tests/programs/faults/leak/log_of_accuracy.py - a module-level log that keeps a tensor of the GPU for each step:
small, but without end."""
import torch
from torch import nn

LOG = {}


def log(name, value):
    LOG.setdefault(name, []).append(value)  # fault: leak
    # repaired: LOG.setdefault(name, []).append(value.item())


def train(model, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(64, 256, device="cuda")
        y = torch.randint(0, 10, (64,), device="cuda")
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log("accuracy", (logits.argmax(1) == y).float().mean())


net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()
train(net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), 10)
