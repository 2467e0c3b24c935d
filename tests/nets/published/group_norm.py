# Group norm, forward and backward: what the benchmark of Liger-Kernel measures, as
# tests/programs/published/measure.py has it. The constants are those of a row of peaks.tsv beside that file;
# tests/e2e/test_published_nets.c sets those of the others.
import torch
import torch.nn as nn
import torch.nn.functional as F

M = 128
C = 32
H = 512
channels_per_group = 4


class Both(nn.Module):
    """The module that is measured, that of the other implementation, and the input, whose gradient is kept."""

    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.empty(M, C, H))
        self.module = nn.GroupNorm(C // channels_per_group, C, eps=1e-6)
        self.other = nn.GroupNorm(C // channels_per_group, C, eps=1e-6)


def model():
    return Both()


class Kept:
    """What is made once, before the first call."""

    def __init__(self):
        self.is_made = False


kept = Kept()


def batch(n):
    return torch.empty(0), torch.empty(0)


def train_step(model, optimizer, scaler, inputs, targets):
    if not kept.is_made:
        kept.dy = torch.randn_like(model.x)
        kept.is_made = True
    y = model.module(model.x)
    y.backward(kept.dy, retain_graph=True)


defaults = dict(batch=1, steps=4, data="once")
