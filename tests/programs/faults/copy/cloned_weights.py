"""tests/programs/faults/copy/cloned_weights.py - the initial weights are cloned on the GPU, to compare with the
trained ones once."""
import torch
from torch import nn


def train(model):
    start = {name: p.detach().clone() for name, p in model.named_parameters()}  # fault: copy
    # repaired: start = {name: p.detach().cpu() for name, p in model.named_parameters()}
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(5):
        x = torch.randn(64, 1024, device="cuda")
        loss = (model(x) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return sum(float((p.detach().cpu() - start[name].cpu()).norm()) for name, p in model.named_parameters())


train(nn.Sequential(nn.Linear(1024, 2048), nn.Tanh(), nn.Linear(2048, 1024)).cuda())
