# Linear layer and cross entropy, forward and backward: what the benchmark of Liger-Kernel measures, as
# tests/programs/published/measure.py has it. The constants are those of a row of peaks.tsv beside that file;
# tests/e2e/test_published_nets.c sets those of the others.
import torch
import torch.nn as nn
import torch.nn.functional as F

BT = 4096
H = 4096
V = 128256


class Both(nn.Module):
    """The layer that is measured, that of the other implementation, and the input, whose gradient is kept."""

    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.empty(BT, H))
        self.module = nn.Linear(H, V, bias=False)
        self.other = nn.Linear(H, V, bias=False)


def model():
    return Both().to(torch.bfloat16)


def batch(n):
    return torch.empty(0), torch.randint(V, (BT,))


def train_step(model, optimizer, scaler, inputs, targets):
    loss = forward(model, targets)
    loss.backward()


def forward(model, targets):
    logits = model.module(model.x)
    return F.cross_entropy(logits, targets)


defaults = dict(batch=1, steps=4, data="once")
