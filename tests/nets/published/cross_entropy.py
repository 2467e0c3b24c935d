# Cross entropy, forward and backward: what the benchmark of Liger-Kernel measures, as
# tests/programs/published/measure.py has it. The constants are those of a row of peaks.tsv beside that file;
# tests/e2e/test_published_nets.c sets those of the others.
import torch
import torch.nn as nn
import torch.nn.functional as F

B = 8
T = 2048
V = 4096


class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.empty(B * T, V))


def model():
    return Leaf()


def batch(n):
    return torch.empty(0), torch.randint(V, (B * T,))


def train_step(model, optimizer, scaler, inputs, targets):
    loss = F.cross_entropy(model.x, targets)
    loss.backward()


defaults = dict(batch=1, steps=4, data="once")
