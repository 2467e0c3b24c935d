# Rotary embedding of transformers, forward and backward: what the benchmark of Liger-Kernel measures, as
# tests/programs/published/measure.py has it. The constants are those of a row of peaks.tsv beside that file;
# tests/e2e/test_published_nets.c sets those of the others.
import torch
import torch.nn as nn
import torch.nn.functional as F

num_q_heads = 32
num_kv_heads = 8
hidden_size = 8192
T = 2048


class Leaves(nn.Module):
    def __init__(self):
        super().__init__()
        size = hidden_size // num_q_heads
        self.q = nn.Parameter(torch.empty(1, T, num_q_heads, size, dtype=torch.bfloat16))
        self.k = nn.Parameter(torch.empty(1, T, num_kv_heads, size, dtype=torch.bfloat16))


def model():
    return Leaves()


class Kept:
    """What is made once, before the first call."""

    def __init__(self):
        self.is_made = False


kept = Kept()


def batch(n):
    return torch.empty(0), torch.empty(0)


def rotated(x):
    first = x[..., :x.shape[-1] // 2]
    second = x[..., x.shape[-1] // 2:]
    return torch.cat((-second, first), dim=-1)


def angles_of(inverse, where):
    angles = (inverse[None, :, None].float() @ where[:, None, :].float()).transpose(1, 2)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos().to(torch.bfloat16), angles.sin().to(torch.bfloat16)


def make(model):
    kept.q, kept.k = model.q.transpose(1, 2), model.k.transpose(1, 2)
    kept.dq, kept.dk = torch.randn_like(kept.q), torch.randn_like(kept.k)
    kept.where = torch.arange(T, device="cuda").unsqueeze(0)
    kept.inverse = torch.empty(hidden_size // num_q_heads // 2, device="cuda")
    with torch.no_grad():
        kept.cos, kept.sin = angles_of(kept.inverse, kept.where)
    kept.is_made = True


def train_step(model, optimizer, scaler, inputs, targets):
    if not kept.is_made:
        make(model)
    c, s = kept.cos.unsqueeze(1), kept.sin.unsqueeze(1)
    q_out = (kept.q * c) + (rotated(kept.q) * s)
    k_out = (kept.k * c) + (rotated(kept.k) * s)
    torch.autograd.grad((q_out, k_out), (kept.q, kept.k), (kept.dq, kept.dk), retain_graph=True)


defaults = dict(batch=1, steps=4, data="once")
