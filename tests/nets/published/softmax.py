# Softmax, forward and backward: what the benchmark of Liger-Kernel measures, as
# tests/programs/published/measure.py has it. The constants are those of a row of peaks.tsv beside that file;
# tests/e2e/test_published_nets.c sets those of the others.
import torch
import torch.nn as nn
import torch.nn.functional as F

N = 4096
dtype = torch.float32


class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.empty(N, dtype=dtype))


def model():
    return Leaf()


def batch(n):
    return torch.empty(0), torch.empty(0)


def train_step(model, optimizer, scaler, inputs, targets):
    y = F.softmax(model.x, dim=-1)
    y.backward(torch.ones_like(y), retain_graph=True)


defaults = dict(batch=1, steps=4, data="once")
