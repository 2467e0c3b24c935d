# PyTorch refuses: an input that was marked dirty is not returned.
import torch
import torch.nn as nn


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, also=False):
        x.mul_(2)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x + 1

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
        return h

def model():
    return Net()


def batch(n):
    return torch.randn(n, 4), torch.randint(0, 4, (n,))
