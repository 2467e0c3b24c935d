"""tests/programs/observed/freed.py - at the end there is a graph of which a backward has released a part: what the rest
of it has saved is known. A range has the name of an op of the program."""
import torch
from figures import figures


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


x = torch.ones(1 << 18, device="cuda", requires_grad=True)
with torch.profiler.record_function("Square"):
    part = Square.apply(x)
whole = (part * 2).cos()
part.sum().backward()
figures()
