"""tests/programs/observed/leaves.py - a loop over plain tensors, without a module or an optimizer."""
import torch
from figures import figures

w = torch.randn(512, 512, device="cuda", requires_grad=True)
layers = [torch.randn(512, 512, device="cuda", requires_grad=True) for _ in range(2)]
for _ in range(4):
    x = torch.randn(64, 512, device="cuda", requires_grad=True)  # its gradient is asked for: no parameter
    h = torch.relu(x @ w)
    for layer in layers:
        h = torch.relu(h @ layer)
    h.sum().backward()
    with torch.no_grad():
        for p in [w] + layers:
            p -= 0.1 * p.grad
            p.grad = None
figures()
