# SwiGLU, forward and backward: what the benchmark of Liger-Kernel measures, as
# tests/programs/published/measure.py has it. The constants are those of a row of peaks.tsv beside that file;
# tests/e2e/test_published_nets.c sets those of the others.
import torch
import torch.nn as nn
import torch.nn.functional as F

B = 4
T = 1024
hidden_size = 4096
intermediate_size = 11008


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.empty(B, T, hidden_size))
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=False)
        self.activation = nn.SiLU()

    def forward(self, x):
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))


def model():
    return MLP().to(torch.bfloat16)


def batch(n):
    return torch.empty(0), torch.empty(0)


def train_step(model, optimizer, scaler, inputs, targets):
    y = model(model.x)
    y.backward(torch.randn_like(y), retain_graph=True)


defaults = dict(batch=1, steps=4, data="once")
