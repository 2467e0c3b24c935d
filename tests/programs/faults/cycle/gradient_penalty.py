"""tests/programs/faults/cycle/gradient_penalty.py - a gradient penalty by backward(create_graph=True): each gradient
refers to its parameter's graph and back."""
import torch
from torch import nn


def step(model, x):
    x.requires_grad_()
    score = model(x).sum()
    score.backward(create_graph=True)  # fault: cycle
    # repaired: (x.grad,) = torch.autograd.grad(score, x, create_graph=True)
    penalty = (x.grad.norm(dim=1) - 1).square().mean()
    return penalty.item()


for _ in range(10):
    critic = nn.Sequential(nn.Linear(512, 1024), nn.Tanh(), nn.Linear(1024, 1)).cuda()
    step(critic, torch.randn(128, 512, device="cuda"))
