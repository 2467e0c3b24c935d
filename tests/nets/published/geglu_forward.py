# GEGLU, forward alone, after a whole call: what the benchmark of Liger-Kernel measures, as
# tests/programs/published/measure.py has it. The constants are those of a row of peaks.tsv beside that file;
# tests/e2e/test_published_nets.c sets those of the others.
import torch
import torch.nn as nn
import torch.nn.functional as F

bsz = 8
T = 1024
hidden_size = 4096
intermediate_size = 11008


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.empty(bsz, T, hidden_size))
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=False)
        self.activation = nn.GELU(approximate="tanh")

    def forward(self, x):
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))


def model():
    return MLP().to(torch.bfloat16)


def batch(n):
    return torch.empty(0), torch.empty(0)


class Kept:
    """What is made once, before the first call."""

    def __init__(self):
        self.is_made = False


kept = Kept()


def train_step(model, optimizer, scaler, inputs, targets):
    y = model(model.x)
    if not kept.is_made:
        y.backward(torch.randn_like(y))
        optimizer.zero_grad()
        kept.is_made = True
    del y


defaults = dict(batch=1, steps=4, data="once")
