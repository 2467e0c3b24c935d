# lesson: 18 Gradients set to None
# claim: Call optimizer.zero_grad(set_to_none=True): gradients are then freed instead of filled with zeros.
# run before: zero-grad=zeros : set_to_none=False
# run after: zero-grad=none : set_to_none=True
# run default: : as PyTorch does it without an argument
# show after zero_grad: after(*, zero_grad, 1)
# show highest in forward: top(*, forward, 1)
# if: same(default, after) == 1 and top(after, forward, 1) < top(before, forward, 1) and peak(after) <= peak(before)
# verdict: no longer true since PyTorch 2.0, which does it by itself
# text: Without an argument zero_grad() frees the gradients: {after(default, zero_grad, 1)} after the step, and
#   every event is the one of set_to_none=True. Filled with zeros they stay through the next forward: {after(before,
#   zero_grad, 1)} after the step, and a peak of {peak(before)} instead of {peak(after)}.
import torch
import torch.nn as nn


def model():
    return nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 10))


def batch(n):
    return torch.randn(n, 1024), torch.randint(0, 10, (n,))


defaults = dict(batch=2048)
