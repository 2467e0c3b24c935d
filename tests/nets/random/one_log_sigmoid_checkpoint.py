# log_sigmoid as the last that a checkpointed function saves: PyTorch saves an empty buffer behind its input, so the re-run gets past the kernel.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


def tail(x):
    return F.logsigmoid(x * x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.zeros(8, 6))

    def forward(self, x):
        y = checkpoint(tail, self.x, use_reentrant=False)
        return F.logsigmoid(y * 2.0)


def model():
    return Net()


def batch(n):
    return torch.zeros(1), torch.zeros(1)


def loss(output, target):
    return (output * output).sum()


defaults = dict(batch=1, steps=2)
