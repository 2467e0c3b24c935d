# lang/prelude/formula.py - values by a formula in place of random numbers, for tests (tests/oracle/README.md).
#
# For:       lang/prelude/train.py.
# Invariant: PyTorch with tests/oracle's functions of the same formula has the same values, so losses are compared.
import torch
import torch.nn as nn
import torch.nn.functional as F


def _size_of(size):
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        return tuple(size[0])
    return tuple(size)


def use(settings):
    # replace the net's random numbers by those of a formula; k counts the calls since settings["random"] was set
    def next_key():
        settings["random"] = settings["random"] + 1
        return settings["random"] - 1

    def randn(*size, dtype=None, device=None, requires_grad=False):
        t = torch.empty(_size_of(size), dtype=torch.float32)
        torch._op._fill_formula_(t, next_key(), 0.0, 1.0)
        return t if dtype is None else t.to(dtype)

    def rand(*size, dtype=None, device=None, requires_grad=False):
        return (randn(*size, dtype=dtype) + 1) * 0.5

    def randint(*args, dtype=None, device=None):
        size = tuple(args[len(args) - 1])
        low = args[0] if len(args) == 3 else 0
        high = args[1] if len(args) == 3 else args[0]
        t = torch.empty(size, dtype=torch.int64)
        torch._op._fill_formula_int_(t, next_key(), low, high)
        return t if dtype is None else t.to(dtype)

    def dropout(input, p=0.5, training=True, inplace=False):
        return input

    attention = F.scaled_dot_product_attention

    def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                     enable_gqa=False):
        return attention(query, key, value, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa)

    torch.randn = randn
    torch.rand = rand
    torch.randint = randint
    F.dropout = F.dropout1d = F.dropout2d = F.dropout3d = dropout
    F.scaled_dot_product_attention = scaled_dot_product_attention


def fill(model):
    for m in model.modules():
        if isinstance(m, nn._DropoutNd):
            m.p = 0.0
        if isinstance(m, nn.MultiheadAttention):
            m.dropout = 0.0
        if isinstance(m, nn._BatchNorm):
            m.reset_running_stats()
    key = 0
    for name, p in model.named_parameters():
        key = key + 1
        leaf = name.split(".")[-1]
        offset = 0.0
        scale = 0.1
        if leaf == "weight" and p.dim() >= 2:
            scale = (6.0 / (p.numel() // p.shape[0])) ** 0.5
        elif leaf == "weight" and p.dim() == 1:
            offset = 1.0
        elif leaf == "bias":
            scale = 0.05
        with torch.no_grad():
            torch._op._fill_formula_(p, key, offset, scale)
