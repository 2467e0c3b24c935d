"""tests/oracle/numbers_cpu.py - the numbers of setting cpu. Formula-made weights and batches, real arithmetic on the
CPU.

Weights and inputs depend on nothing but a key and an index (`hash_values`), so that any program
can make the same ones. Dropout is off everywhere.
"""
import contextlib
import math

import torch
import torch.nn.functional as F

import loop
import netfile
import toggles as tg

MASK = 0xFFFFFFFF
BATCH_KEY = 1000001
MODEL_KEY = 2000001
FIRST = 6


def hash_words(key, count):
    """`count` words of 32 bits, as int64: see README.md, "Weights and batches"."""
    h = torch.arange(count, dtype=torch.int64)
    h = (h * 0x9E3779B1 + ((key * 0x85EBCA6B + 0x12345) & MASK)) & MASK
    h = h ^ (h >> 16)
    h = (h * 0x85EBCA6B) & MASK
    h = h ^ (h >> 13)
    h = (h * 0xC2B2AE35) & MASK  # int64 wraps around, its low half is right
    return h ^ (h >> 16)


def hash_values(key, count):
    """float32 values in [-1, 1), exact in 24 bits."""
    return (hash_words(key, count) >> 8).float() * 2.0 ** -23 - 1.0


def weight_rule(name, p):
    """(offset, scale): a weight is offset + value * scale."""
    leaf = name.split(".")[-1]
    if leaf == "weight" and p.dim() >= 2:
        return 0.0, math.sqrt(6.0 / (p.numel() // p.shape[0]))
    if leaf == "weight":
        return 1.0, 0.1
    return 0.0, 0.05 if leaf == "bias" else 0.1


def fill(model):
    with torch.no_grad():
        for i, (name, p) in enumerate(model.named_parameters()):
            offset, scale = weight_rule(name, p)
            v = hash_values(i + 1, p.numel()) * torch.tensor(scale, dtype=torch.float32)
            p.copy_((v + offset if offset else v).view(p.shape))


@contextlib.contextmanager
def formula_random(base):
    """The k-th call of randn, rand, randint inside gives values of key base + k."""
    count = [0]
    kept = {n: getattr(torch, n) for n in ("randn", "rand", "randint")}

    def next_key():
        count[0] += 1
        return base + count[0] - 1

    def shape(size, words):
        size = words.get("size", size)
        return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else \
            tuple(size)

    def randn(*size, **words):
        s = shape(size, words)
        return hash_values(next_key(), math.prod(s)).view(s)

    def rand(*size, **words):
        return (randn(*size, **words) + 1) * 0.5

    def randint(*numbers, **words):
        numbers = list(numbers)
        size = words["size"] if "size" in words else numbers.pop()
        low, high = (0, numbers[0]) if len(numbers) == 1 else numbers
        return ((hash_words(next_key(), math.prod(size)) >> 8) % (high - low) + low).view(size)

    try:
        torch.randn, torch.rand, torch.randint = randn, rand, randint
        yield
    finally:
        for n, f in kept.items():
            setattr(torch, n, f)


@contextlib.contextmanager
def without_dropout():
    names = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout",
             "feature_alpha_dropout")
    kept = {n: getattr(F, n) for n in names}
    attention = F.scaled_dot_product_attention
    try:
        for n in names:
            setattr(F, n, lambda x, *a, **k: x)
        F.scaled_dot_product_attention = \
            lambda q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, **w: attention(
                q, k, v, attn_mask, 0.0, is_causal, **w)
        yield
    finally:
        for n, f in kept.items():
            setattr(F, n, f)
        F.scaled_dot_product_attention = attention


@contextlib.contextmanager
def grouped_mm_in_double():
    """PyTorch's own has no kernel for it: each group is a product."""
    real = torch._grouped_mm

    def grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
        if a.dtype != torch.float64:
            return real(a, b, offs, bias, out_dtype)
        if offs is None:
            return torch.bmm(a, b)
        ends = offs.tolist()
        groups = [slice(start, end) for start, end in zip([0] + ends, ends)]
        if a.dim() == 3:
            return torch.cat([a[i] @ b[:, g] for i, g in enumerate(groups)], 1)
        if b.dim() == 3:
            return torch.cat([a[g] @ b[i] for i, g in enumerate(groups)])
        return torch.stack([a[:, g] @ b[g] for g in groups])

    try:
        torch._grouped_mm = grouped_mm
        yield
    finally:
        torch._grouped_mm = real


class Precise:
    """A net file whose batches are made by formula, in float32 or double."""

    def __init__(self, net, dtype):
        self.net, self.dtype = net, dtype
        self.loss, self.train_step, self.optimizer = net.loss, net.train_step, net.optimizer

    def model(self):
        with formula_random(MODEL_KEY):
            model = self.net.model()
        fill(model)
        return model.to(self.dtype)

    def batch(self, n):
        with formula_random(BATCH_KEY):
            return self.convert(self.net.batch(n))

    def convert(self, value):
        if isinstance(value, torch.Tensor):
            return value.to(self.dtype) if value.is_floating_point() else value
        if isinstance(value, (list, tuple)):
            return type(value)([self.convert(v) for v in value])
        return value


class Watch:
    """Losses of every micro-step, gradients of the first step just before they are cleared."""

    def __init__(self, model):
        self.model = model
        self.losses, self.grads = [], {}
        self.now = -1

    def step(self, index):
        self.now = index

    def loss(self, value):
        if isinstance(value, torch.Tensor):
            self.losses.append([self.now, value.item()])

    def phase(self, name):
        if self.now == 0 and name == "backward":
            self.grads = {n: p.grad.clone() for n, p in self.model.named_parameters()
                          if p.grad is not None}

    def batch(self, batch):
        pass

    def loss_ended(self, before_backward):
        pass

    def finish(self):
        pass


def summary(tensor, first=FIRST):
    flat = tensor.detach().double().flatten()
    return {"l2": short(flat.norm().item()), "first": [short(v) for v in flat[:first].tolist()]}


def short(value):
    return float("%.9g" % value) if math.isfinite(value) else str(value)


def train(net, toggles, dtype):
    precise = Precise(net, dtype)
    model = precise.model()
    decided = tg.decide_inplace(precise, toggles) if toggles["inplace"] == "on" else None
    notes = tg.prepare(model, toggles, decided)
    if net.optimizer is not None:
        optimizer = net.optimizer(model)
    elif toggles["grad"] == "train":
        optimizer = tg.make_optimizer(model, toggles)
    else:
        optimizer = None
    watch = Watch(model)
    with without_dropout(), grouped_mm_in_double():
        loop.train(precise, model, optimizer, loop.Identity(), toggles, "cpu", watch)
    return model, watch, notes


def run(path, given):
    """Losses, first gradients, weights and buffers after all steps; the same in double."""
    torch.set_num_threads(1)
    net = netfile.NetFile(path)
    toggles = tg.settle(given, net)
    if toggles["amp"] != "off" or toggles["half"] != "off":
        raise tg.Refused("the numbers are in float32 and double only")
    model, single, notes = train(net, toggles, torch.float32)
    model64, double, _ = train(net, toggles, torch.float64)
    worst = 0.0
    for n, g in single.grads.items():
        exact = double.grads[n]
        norm = exact.norm().item()
        if norm > 0:
            worst = max(worst, (g.double() - exact).norm().item() / norm)
    after64 = dict(model64.named_parameters())
    return {
        "torch": torch.__version__, "toggles": toggles, "applied": notes,
        "losses": [[s, short(v)] for s, v in single.losses],
        "losses64": [[s, float("%.15g" % v)] for s, v in double.losses],
        "grads": {n: dict(summary(g), l2_64=short(double.grads[n].norm().item()))
                  for n, g in single.grads.items()},
        "params": {n: dict(summary(p), l2_64=short(after64[n].detach().norm().item()))
                   for n, p in model.named_parameters()},
        "buffers": {n: summary(b) for n, b in model.named_buffers() if b.is_floating_point()},
        "max_rel_grad_diff": short(worst),
    }
