# Jensen-Shannon divergence of each token, forward and backward: what the benchmark of Liger-Kernel measures, as
# tests/programs/published/measure.py has it. The constants are those of a row of peaks.tsv beside that file;
# tests/e2e/test_published_nets.c sets those of the others.
import torch
import torch.nn as nn
import torch.nn.functional as F

BT = 4096
vocab_size = 128256


class Leaf(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.empty(BT, vocab_size))


def model():
    return Leaf()


class Kept:
    """What is made once, before the first call."""

    def __init__(self):
        self.is_made = False


kept = Kept()


def batch(n):
    return torch.empty(0), torch.empty(0)


def divergence(q, p):
    p, q = p.view(-1, vocab_size), q.view(-1, vocab_size)
    m = torch.lerp(torch.exp(q), torch.exp(p), 0.5)
    loss = 0.5 * F.kl_div(torch.log(m), p, reduction="none", log_target=True).sum(dim=-1) \
        + (1 - 0.5) * F.kl_div(torch.log(m), q, reduction="none", log_target=True).sum(dim=-1)
    loss = (loss / q.shape[0]).sum()
    return loss


def train_step(model, optimizer, scaler, inputs, targets):
    if not kept.is_made:
        kept.data = model.x.log_softmax(dim=-1)
        kept.target = torch.randn(BT, vocab_size, device="cuda").log_softmax(dim=-1)
        kept.is_made = True
    loss = divergence(kept.data, kept.target)
    loss.backward(torch.randn_like(loss), retain_graph=True)


defaults = dict(batch=1, steps=4, data="once")
