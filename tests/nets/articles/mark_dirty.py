# Custom functions that overwrite an input and say so: with one result, with two, of a view, without a gradient.
import torch
import torch.nn as nn


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, also=False):
        x.mul_(2)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return (x, x + 1) if also else x

    @staticmethod
    def backward(ctx, grad, other=None):
        x, = ctx.saved_tensors
        return grad * 2 + x * 0, None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.w = nn.Parameter(torch.ones(4, 4))

    def forward(self, x):
        h = self.fc(x)
        h = Doubled.apply(h)
        h, more = Doubled.apply(h.exp(), True) if h.dim() == 1 else Doubled.apply(h * 3, True)
        whole = h * 1
        Doubled.apply(whole[0:2])
        h = h + whole
        with torch.no_grad():
            Doubled.apply(self.w)
        h = Doubled.apply(h + more)
        other = x * 2
        h = h + Doubled.apply(other) + (Doubled.apply(other) is other)
        return h

def model():
    return Net()


def batch(n):
    return torch.randn(n, 4), torch.randint(0, 4, (n,))
