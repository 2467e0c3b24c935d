#!/usr/bin/env python3
"""tests/oracle/op_cases.py - what PyTorch does with each row of tests/engine/op_cases.def: results, gradients, memory.

    python3 tests/oracle/op_cases.py [--only WORD] [--print]

Writes tests/golden/oracle/op_cases.txt; with --print to the screen instead. With --only the other rows stay as they
are in the file. Per row:

    case ID|ARGUMENTS|OPTIONS
    out K SHAPE SUM L2 FIRST...      result K in float64 on the CPU: sum of value i times formula
    grad K SHAPE SUM L2 FIRST...     value i of key SUM_KEY, the 2-norm, the first four values
    events +24 +24 -24@1 ...         float32 (float16 for rows made for it) on CUDA or its stand-in:
                                     blocks taken and given back, numbered from 1 in this row
    error TEXT                       PyTorch refuses the row (in that run)

The window of the events: the call, one tensor of weights a result, backward with them, the
results let go of. The form of a row is written in tests/engine/op_case.h.
"""
import math
import os
import re
import sys

import nogpu

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROWS = os.path.join(ROOT, "tests", "engine", "op_cases.def")
TABLE = os.path.join(ROOT, "engine", "core", "op.def")
OUT = os.path.join(ROOT, "tests", "golden", "oracle", "op_cases.txt")

KEY, GRAD_KEY, SUM_KEY = 3000001, 4000001, 5000001
DTYPES = {"f16": "float16", "f32": "float32", "f64": "float64", "i64": "int64", "bool": "bool"}


# ---- the tables ----


def op_table():
    """id -> (name, [(parameter, keyword only)])"""
    ops = {}
    with open(TABLE) as f:
        for ident, name, signature in re.findall(r'^OP\((\w+), "([^"]+)", "(\([^"]*\))"', f.read(), re.M):
            params, keyword_only = [], False
            for part in re.split(r",(?![^\[]*\])\s*", signature[1:-1]):
                if part == "*":
                    keyword_only = True
                elif part:
                    params.append((part.split("=")[0].split()[-1], keyword_only))
            ops[ident] = (name, params)
    return ops


def rows():
    with open(ROWS) as f:
        return re.findall(r'^CASE\((\w+), "([^"]*)", "([^"]*)"\)', f.read(), re.M)


# ---- reading a row ----


class Row:
    """The arguments of a row as torch values on a device."""

    def __init__(self, torch, text, dtype, device):
        self.torch, self.dtype, self.device = torch, dtype, device
        self.leaves = []
        self.args = {}
        for word in text.split():
            name, value = word.split("=", 1)
            self.args[name] = self.value(value)

    def value(self, text):
        if text.startswith("["):
            return self.tensor(text)
        if text.startswith("{"):
            return [None if t == "_" else self.tensor(t) for t in text[1:-1].split(";")]
        if text.startswith("("):
            return [number(t) for t in text[1:-1].split(",") if t]
        if text.startswith("<"):
            return tuple(self.index(t) for t in text[1:-1].split(";"))
        if text.startswith("'"):
            return text[1:-1]
        if text in ("None", "True", "False"):
            return {"None": None, "True": True, "False": False}[text]
        if text in ("@host", "@device"):
            return "cpu" if text == "@host" else self.device
        if text.startswith("@"):
            return getattr(self.torch, DTYPES[text[1:]])
        return number(text)

    def index(self, text):
        if text.startswith("["):
            return self.tensor(text)
        if text in ("None", "..."):
            return None if text == "None" else Ellipsis
        if ":" in text:
            return slice(*[int(t) if t else None for t in text.split(":")])
        return int(text)

    def tensor(self, text):
        torch = self.torch
        sizes, flags = re.match(r"\[([\d,]*)\](\w*)$", text).groups()
        sizes = [int(s) for s in sizes.split(",") if s]
        flags = dict(re.findall(r"([a-z])(\d*)", flags))
        key = KEY + len(self.leaves)
        dtype = torch.int64 if "i" in flags else torch.bool if "b" in flags else self.dtype
        t = self.laid_out(sizes, dtype, flags)
        t.copy_(self.values(sizes, key, flags))
        if dtype.is_floating_point and "n" not in flags:
            t.requires_grad_()
        self.leaves.append(t)
        return t

    def laid_out(self, sizes, dtype, flags):
        torch = self.torch
        device = "cpu" if "h" in flags else self.device
        behind = list(sizes)
        if "l" in flags:
            return torch.empty(sizes, dtype=dtype, device=device, memory_format=channels_last(torch, sizes))
        if "t" in flags:
            behind[-2:] = [sizes[-1], sizes[-2]]
        if "s" in flags:
            behind[-1] *= 2
        if "o" in flags:
            behind[0] += 1
        if "k" in flags:
            behind[1] += 1
        t = torch.empty(behind, dtype=dtype, device=device)
        if "s" in flags:
            t = t[..., ::2]
        if "t" in flags:
            t = t.transpose(-1, -2)
        if "o" in flags:
            t = t[1:]
        if "k" in flags:
            t = t[:, :-1]
        return t.detach()

    def values(self, sizes, key, flags):
        from numbers_cpu import hash_values, hash_words
        torch = self.torch
        count = math.prod(sizes)
        if "i" in flags:
            v = (hash_words(key, count) >> 8) % int(flags["i"])
        elif "b" in flags:
            v = (hash_words(key, count) >> 8) & 1
        elif "p" in flags:
            v = hash_values(key, count).double() * 0.5 + 1.0
        elif "z" in flags:
            v = hash_values(key, count).double()
            v[v.abs() < 0.5] = 0
        else:
            v = hash_values(key, count).double() * int(flags.get("m") or 1)
        v = v.view(sizes)
        if "r" in flags:
            v = (v + 1) / (v + 1).sum(1, keepdim=True)
        return v


def channels_last(torch, sizes):
    return torch.channels_last_3d if len(sizes) == 5 else torch.channels_last


def number(text):
    return float(text) if re.search(r"[.n]", text) or "e-" in text else int(text)


# ---- calling ----


def pair(v):
    return [v, v] if isinstance(v, int) else v


def words_of(words, before):
    """The values, and None for both biases where only what is before them is given."""
    return list(words.values()) + [None, None] * (len(words) == before)


def special(torch):
    """Rows that are called by another name than their own."""
    aten, nn = torch.ops.aten, torch._C._nn
    vf = torch._VF

    def setitem(input, index, value):
        input[index] = value
        return input

    def group_norm(input, weight, bias, groups, eps):
        n, c = input.shape[:2]
        return aten.native_group_norm(input, weight, bias, n, c, input.numel() // (n * c), groups, eps)

    def batch_norm(input, **words):
        if input.device.type == "cpu":
            return torch.native_batch_norm(input, *words.values())
        args = list(words.values())
        return torch.cudnn_batch_norm(input, *args)

    def rnn(input, weight, hx, cx, mode, hidden_size, proj_size, num_layers, batch_first, dropout, train,
            bidirectional, has_biases):
        functions = (torch.rnn_relu, torch.rnn_tanh, torch.lstm, torch.gru)
        return functions[mode](input, hx if cx is None else (hx, cx), weight, has_biases, num_layers, dropout, train,
                               bidirectional, batch_first)

    def cast_into(input, buffer, offset):
        part = torch.empty(0, dtype=buffer.dtype, device=buffer.device)
        part.set_(buffer.untyped_storage(), offset, input.shape)
        return part.copy_(input)

    def flash(query, key, value, dropout_p, is_causal, scale):
        return aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, False, scale=scale)

    def efficient(query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale):
        return aten._scaled_dot_product_efficient_attention(query, key, value, attn_bias, compute_log_sumexp,
                                                            dropout_p, is_causal, scale=scale)

    return {
        "rpow": lambda exponent, input: torch.pow(input, exponent),
        "clone_contiguous": lambda input: input.clone(memory_format=torch.contiguous_format),
        "to_copy": lambda input, **w: aten._to_copy(input, **w),
        "to": lambda input, **w: input.to(**w),
        "unsafe_view": lambda input, size: aten._unsafe_view(input, size),
        "alias": lambda input: aten.alias(input),
        "slice": lambda input, dim, start=None, end=None, step=1: aten.slice(input, dim, start, end, step),
        "pad": torch.constant_pad_nd,
        "getitem": lambda input, index: input[index], "setitem": setitem,
        "index": lambda input, indices: aten.index(input, indices),
        "norm": lambda input, dim=None, keepdim=False: torch.linalg.vector_norm(input, 2, dim, keepdim),
        "softmax_leaf": torch._softmax, "log_softmax_leaf": torch._log_softmax,
        "cross_entropy": nn.cross_entropy_loss, "nll_loss_nd": nn.nll_loss_nd,
        "nll_loss": lambda input, **w: aten.nll_loss_forward(input, *w.values()),
        "nll_loss2d": lambda input, **w: aten.nll_loss2d_forward(input, *w.values()),
        "mse_loss": nn.mse_loss, "l1_loss": nn.l1_loss, "smooth_l1_loss": nn.smooth_l1_loss,
        "bce_with_logits": torch.binary_cross_entropy_with_logits,
        "huber_loss": nn.huber_loss, "bce": nn.binary_cross_entropy,
        "kl_div": lambda input, target, reduction=1, log_target=False:
            torch.kl_div(input, target, reduction, log_target=log_target),
        "einsum": lambda equation, tensors: vf.einsum(equation, tensors),
        "safe_softmax": lambda input: torch._safe_softmax(input, -1),
        "sdpa_flash": flash, "sdpa_efficient": efficient,
        "convolution": torch.convolution,
        "max_pool1d": torch.max_pool1d, "max_pool2d": torch.max_pool2d,
        "max_pool2d_indices": nn.max_pool2d_with_indices, "avg_pool2d": nn.avg_pool2d,
        "adaptive_avg_pool2d": nn.adaptive_avg_pool2d,
        "max_pool3d": torch.max_pool3d, "max_pool3d_indices": nn.max_pool3d_with_indices, "avg_pool3d": nn.avg_pool3d,
        "adaptive_avg_pool3d": nn.adaptive_avg_pool3d, "adaptive_max_pool3d": nn.adaptive_max_pool3d,
        "adaptive_avg_pool3d_leaf": lambda input, output_size:
            aten._adaptive_avg_pool3d(input, output_size),
        "upsample_nearest3d": lambda input, output_size, scales_d=None, scales_h=None, scales_w=None:
            nn.upsample_nearest3d(input, output_size, scales_d, scales_h, scales_w),
        "upsample_trilinear3d": lambda input, output_size, align_corners, scales_d=None, scales_h=None, scales_w=None:
            nn.upsample_trilinear3d(input, output_size, align_corners, scales_d, scales_h, scales_w),
        "adaptive_avg_pool2d_leaf": lambda input, output_size:
            aten._adaptive_avg_pool2d(input, output_size),
        "adaptive_max_pool2d": nn.adaptive_max_pool2d,
        "upsample_nearest2d": lambda input, output_size, scales_h=None, scales_w=None:
            nn.upsample_nearest2d(input, output_size, scales_h, scales_w),
        "upsample_bilinear2d_aa": lambda input, output_size, align_corners, scales_h=None, scales_w=None:
            nn._upsample_bilinear2d_aa(input, output_size, align_corners, scales_h, scales_w),
        "upsample_bicubic2d_aa": lambda input, output_size, align_corners, scales_h=None, scales_w=None:
            nn._upsample_bicubic2d_aa(input, output_size, align_corners, scales_h, scales_w),
        "pow_scalar": lambda input, exponent: torch.pow(input, exponent),
        "upsample_bilinear2d": lambda input, output_size, align_corners, scales_h=None, scales_w=None:
            nn.upsample_bilinear2d(input, output_size, align_corners, scales_h, scales_w),
        "upsample_nearest1d": lambda input, output_size, scales=None:
            nn.upsample_nearest1d(input, output_size, scales),
        "upsample_linear1d": lambda input, output_size, align_corners, scales=None:
            nn.upsample_linear1d(input, output_size, align_corners, scales),
        "upsample_bicubic2d": lambda input, output_size, align_corners, scales_h=None, scales_w=None:
            nn.upsample_bicubic2d(input, output_size, align_corners, scales_h, scales_w),
        "unfold": lambda input, **w: input.unfold(**w),
        **{name: lambda input, name=name, **w: getattr(aten, name)(input, *[pair(v) for v in w.values()])
           for name in ("im2col", "col2im", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
                        "replication_pad1d", "replication_pad2d", "replication_pad3d")},
        "batch_norm": lambda **w: torch.batch_norm(*w.values(), True),
        "cudnn_batch_norm": batch_norm,
        "native_batch_norm": lambda **w: torch.native_batch_norm(*w.values()),
        "native_layer_norm": lambda **w: torch.native_layer_norm(*w.values()),
        "native_group_norm": group_norm,
        "fused_rms_norm": lambda **w: torch._fused_rms_norm(*w.values()),
        "dropout": torch.dropout, "feature_dropout": torch.feature_dropout,
        "cudnn_rnn": rnn, "cast_into": cast_into,
        "rnn_tanh_cell": lambda **w: vf.rnn_tanh_cell(*words_of(w, 4)),
        "rnn_relu_cell": lambda **w: vf.rnn_relu_cell(*words_of(w, 4)),
        "gru_cell": lambda **w: vf.gru_cell(*words_of(w, 4)),
        "lstm_cell": lambda input, cx, hx, **w: vf.lstm_cell(input, (hx, cx), *words_of(w, 2)),
        "fused_lstm_cell": lambda **w: aten._thnn_fused_lstm_cell(*w.values()),
        "fused_gru_cell": lambda **w: aten._thnn_fused_gru_cell(*w.values()),
        "native_dropout": lambda input, p: torch.native_dropout(input, p, True),
    }


INPLACE = {"index_put_": "index_put_", "fill_": "fill_", "zero_": "zero_", "copy_": "copy_"}


def plain(torch, name, params, args):
    """The op by its own name: torch.NAME, torch.nn.functional.NAME, or a method."""
    base = name.split(".")[0]
    first, rest, words = split_args(params, args)
    for place in (torch, torch.nn.functional):
        if hasattr(place, base):
            return getattr(place, base)(first, *rest, **words)
    return getattr(first, base)(*rest, **words)


def split_args(params, args):
    """First argument, those that can stand by position after it, the others by name."""
    rest, words, gap = [], {}, False
    for name, keyword_only in params[1:]:
        gap = gap or name not in args or keyword_only
        if name in args and gap:
            words[name] = args[name]
        elif name in args:
            rest.append(args[name])
    return args[params[0][0]], rest, words


def inplace(torch, ident, name, params, args):
    base = INPLACE.get(ident, name.split(".")[0].lstrip("_") + "_")
    first, rest, words = split_args(params, args)
    if ident in ("dropout", "feature_dropout"):
        return getattr(torch, base)(first, *rest)
    if hasattr(first, base):
        return getattr(first, base)(*rest, **words)
    if hasattr(torch, base):
        return getattr(torch, base)(first, *rest, **words)
    return getattr(torch.nn.functional, base[:-1])(first, *rest, inplace=True, **words)


def call(torch, row, ident, options, ops, specials):
    """The results that go on to the loss."""
    name, params = ops[ident]
    args = dict(row.args)
    if ("reduction", False) in params:  # the bindings' own default is not mean
        args = {n: args.get(n, 1 if n == "reduction" else None) for n, _ in params
                if n in args or n in ("weight", "pos_weight", "reduction")}
    first = params[0][0]
    whole = None
    if "inplace" in options or "clone" in options:
        whole = args[first].clone()
        args[first] = whole.select(0, 1) if "select" in options else whole
    if "inplace" in options:
        out = inplace(torch, ident, name, params, args)
    elif ident in specials:
        out = specials[ident](**args)
    else:
        out = plain(torch, name, params, args)
    if "select" in options:
        return [whole]
    many = name.split(".")[0] in ("split", "chunk", "unbind")
    outs = list(out) if many else [out[0] if isinstance(out, tuple) else out]
    use = [o[4:] for o in options if o.startswith("use=")]
    if use:
        outs = [outs[int(i)] for i in use[0].split(",")]
    return [o for o in outs if o.is_floating_point()]


def backward(torch, outs, weights):
    pairs = [(o, w) for o, w in zip(outs, weights) if o.requires_grad]
    if pairs:
        torch.autograd.backward([o for o, w in pairs], [w for o, w in pairs])


# ---- what is written ----


def summary(word, k, t):
    from numbers_cpu import hash_values
    flat = t.detach().double().cpu().flatten()
    key = hash_values(SUM_KEY, flat.numel()).double()
    numbers = [(flat * key).sum().item(), flat.norm().item()] + flat[:4].tolist()
    return "%s %d [%s] %s" % (word, k, ",".join(str(s) for s in t.shape),
                              " ".join("%.15g" % n for n in numbers))


def numbers(torch, row_text, ident, options, ops, specials):
    row = Row(torch, row_text, torch.float64, "cpu")
    outs = call(torch, row, ident, options, ops, specials)
    weights = []
    for k, out in enumerate(outs):
        weights.append(row.values(out.shape, GRAD_KEY + k, {}).to(out.dtype))
    lines = [summary("out", k, o) for k, o in enumerate(outs)]
    backward(torch, outs, weights)
    for k, leaf in enumerate(row.leaves):
        if leaf.grad is not None:
            lines.append(summary("grad", k, leaf.grad))
    return lines


def weight(torch, out, options):
    shape, words = tuple(out.shape), dict(dtype=out.dtype, device=out.device)
    if "turned" in options:
        t = torch.empty(shape[::-1], **words)
        return t.permute(*range(len(shape) - 1, -1, -1))
    if "last" in options:
        return torch.empty(shape, memory_format=channels_last(torch, shape), **words)
    return torch.empty(shape, **words)


def memory(torch, row_text, ident, options, ops, specials):
    import events
    dtype = torch.float16 if "half" in options else torch.float32
    row = Row(torch, row_text, dtype, "cuda")
    torch.cuda.memory._record_memory_history("all", context="all", stacks="all", max_entries=100000)
    try:
        outs = call(torch, row, ident, options, ops, specials)
        weights = [weight(torch, o, options) for o in outs]
        backward(torch, outs, weights)
        while outs:
            del outs[0]
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
    finally:
        torch.cuda.memory._record_memory_history(None)
    rows = events.without_scratch(events.read(trace))
    words = ["+%d" % e.bytes if e.kind == "alloc" else "-%d@%d" % (e.bytes, e.id + 1) for e in rows]
    names = [e.op for e in rows]
    return ["events " + " ".join(words)], list(zip(words, names))


def refusal(error):
    return "error " + str(error).split("\n")[0][:200]


def one(torch, ident, args, options, ops, specials, verbose):
    lines = ["case %s|%s|%s" % (ident, args, options)]
    options = options.split()
    if "novalues" not in options and "random" not in options and "half" not in options:
        try:
            lines += numbers(torch, args, ident, options, ops, specials)
        except Exception as error:
            lines.append(refusal(error))
    if "noevents" not in options:
        try:
            found, named = memory(torch, args, ident, options, ops, specials)
            lines += found
            if verbose:
                lines += ["    %s %s" % pair for pair in named]
        except Exception as error:
            lines.append(refusal(error))
    return lines


def written(path):
    """What the file has of each row, by its first line."""
    found, row = {}, None
    if os.path.exists(path):
        with open(path) as f:
            for line in f.read().split("\n"):
                if line.startswith("case "):
                    row = found[line] = []
                elif row is not None and line:
                    row.append(line)
    return found


def main():
    nogpu.enter()
    import torch
    words = sys.argv[1:]
    only = words[words.index("--only") + 1] if "--only" in words else ""
    verbose = "--print" in words
    torch.cuda.init()
    torch.set_num_threads(1)
    torch.empty(1, device="cuda")
    warm = torch.ones(2, 2, device="cuda", requires_grad=True)
    (warm @ warm).sum().backward()
    ops, specials = op_table(), special(torch)
    lines = []
    kept = {} if verbose else written(OUT)
    for ident, args, options in rows():
        row = "case %s|%s|%s" % (ident, args, options)
        if only and only not in "%s %s" % (ident, args) and row in kept:
            lines += [row] + kept[row]
        elif not verbose or only in "%s %s" % (ident, args):
            lines += one(torch, ident, args, options, ops, specials, verbose)
    if verbose:
        print("\n".join(lines))
        return 0
    with open(OUT, "w") as f:
        f.write("# torch %s, made by tests/oracle/op_cases.py\n" % torch.__version__)
        f.write("\n".join(lines) + "\n")
    bad = [l for l in lines if l.startswith("error")]
    print("%d rows, %d refused, %d bytes" % (len(rows()), len(bad), os.path.getsize(OUT)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
