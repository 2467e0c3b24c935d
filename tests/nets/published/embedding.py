# Embedding, forward and backward: what the benchmark of Liger-Kernel measures, as
# tests/programs/published/measure.py has it. The constants are those of a row of peaks.tsv beside that file;
# tests/e2e/test_published_nets.c sets those of the others.
import torch
import torch.nn as nn
import torch.nn.functional as F

B = 32
T = 512
D = 768
V = 1024


class Both(nn.Module):
    """The module that is measured, and that of the other implementation."""

    def __init__(self):
        super().__init__()
        self.module = nn.Embedding(V, D)
        self.other = nn.Embedding(V, D)


def model():
    return Both()


class Kept:
    """What is made once, before the first call."""

    def __init__(self):
        self.is_made = False


kept = Kept()


def batch(n):
    return torch.empty(0), torch.randint(0, V, (B, T))


def train_step(model, optimizer, scaler, inputs, targets):
    if not kept.is_made:
        # compiled modules of earlier measurements
        kept.others = []
        for size, times in [(4096, 3), (768, 2)]:
            if size == 4096 or D == 4096:
                for i in range(10, 18):
                    for _ in range(times):
                        kept.others.append(torch.empty(2**i, size, device="cuda"))
        kept.is_made = True
    y = model.module(targets)
    y.backward(torch.randn_like(y))


defaults = dict(batch=1, steps=4, data="once")
