"""tests/programs/faults/cycle/context_with_result.py - a custom function that stores its result in its context: the
result refers to its node, and the node to the result."""
import torch
from torch import nn


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        gate = torch.sigmoid(x)
        result = x * gate
        ctx.save_for_backward(x)
        ctx.result = result  # fault: cycle
        # repaired: ctx.gate = gate
        return result

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        gate = torch.sigmoid(x)
        return grad * (gate + x * gate * (1 - gate))


model = nn.Sequential(nn.Linear(512, 1024), nn.Linear(1024, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    x = torch.randn(256, 512, device="cuda")
    loss = model[1](Swish.apply(model[0](x))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
