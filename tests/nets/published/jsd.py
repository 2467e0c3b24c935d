# Jensen-Shannon divergence, forward and backward: what the benchmark of Liger-Kernel measures, as
# tests/programs/published/measure.py has it. The constants are those of a row of peaks.tsv beside that file;
# tests/e2e/test_published_nets.c sets those of the others.
import torch
import torch.nn as nn
import torch.nn.functional as F

B = 4
T = 2048
V = 4096


class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.empty(B * T, V))


def model():
    return Leaf()


class Kept:
    """What is made once, before the first call."""

    def __init__(self):
        self.is_made = False


kept = Kept()


def batch(n):
    return torch.empty(0), torch.empty(0)


def divergence(data, target):
    p, q = data.view(-1, V), target.view(-1, V)
    m = 0.5 * (torch.exp(p) + torch.exp(q))
    log_m = torch.log(m)
    loss = 0.5 * (F.kl_div(log_m, p, reduction="batchmean", log_target=True)
                  + F.kl_div(log_m, q, reduction="batchmean", log_target=True))
    return loss


def train_step(model, optimizer, scaler, inputs, targets):
    if not kept.is_made:
        kept.data = model.x.log_softmax(dim=-1)
        kept.target = torch.randn(B * T, V, device="cuda").log_softmax(dim=-1)
        kept.is_made = True
    loss = divergence(kept.data, kept.target)
    loss.backward(retain_graph=True)


defaults = dict(batch=1, steps=4, data="once")
