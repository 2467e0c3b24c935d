"""tests/programs/faults/cycle/kept_exception.py - an exception in a variable of the function whose frame its
traceback holds."""
import torch
from torch import nn

model = nn.Linear(1024, 1024).cuda()


def step():
    x = torch.randn(512, 1024, device="cuda")
    failed = None
    try:
        y = model(x)
        raise ValueError("loss is not finite")
    except ValueError as error:
        failed = error  # fault: cycle
        # repaired: failed = str(error)
    return failed is not None


with torch.no_grad():
    for _ in range(12):
        step()
