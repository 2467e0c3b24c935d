#!/usr/bin/env python3
"""tests/oracle/op_policies.py - what autocast and autograd do with each row of tests/engine/op_cases.def: dtypes of
results, and what is saved.

    python3 tests/oracle/op_policies.py [--only WORD] [--print]

Writes tests/golden/oracle/op_policies.txt; with --print to the screen instead. Per row:

    case ID|ARGUMENTS|OPTIONS
    f32 off out f32 saved in0 new24     tensors of float32, no autocast: dtypes of the results; the distinct storages
                                        that autograd holds once the call is over: inputs in reading order, results,
                                        others by bytes
    f32 f16 ...                         the same call under autocast to float16, after the region
    f16 f16 ...                         tensors of float16 under autocast
    f32 off error TEXT                  PyTorch refuses the call

On CUDA or its stand-in. Rows made for float16 have no float32 lines. What lives on the host is left out.
"""
import contextlib
import os
import sys
import weakref

import nogpu
import op_cases

OUT = os.path.join(os.path.dirname(op_cases.OUT), "op_policies.txt")
MODES = (("f32", "off"), ("f32", "f16"), ("f16", "f16"))
HALF_MODES = (("f16", "off"), ("f16", "f16"))
SHORT = {"torch.float16": "f16", "torch.bfloat16": "bf16", "torch.float32": "f32", "torch.float64": "f64"}


class Box:
    """What autograd holds in place of a saved tensor."""

    def __init__(self, tensor):
        self.tensor = tensor


def storage(t):
    return t.untyped_storage().data_ptr()


def saved_words(row, outs, boxes):
    names = {}
    for k, out in enumerate(outs):
        names[storage(out)] = "out%d" % k
    for k, leaf in enumerate(row.leaves):
        names[storage(leaf)] = "in%d" % k
    found = {}
    for box in (ref() for ref in boxes):
        if box is not None and box.tensor.is_cuda and box.tensor.untyped_storage().nbytes():
            at = storage(box.tensor)
            found[at] = names.get(at, "new%d" % box.tensor.untyped_storage().nbytes())
    return " ".join(sorted(found.values())) or "nothing"


def one_mode(torch, ident, args, options, ops, specials, dtype, region):
    boxes = []

    def pack(t):
        box = Box(t)
        boxes.append(weakref.ref(box))
        return box

    row = op_cases.Row(torch, args, torch.float16 if dtype == "f16" else torch.float32, "cuda")
    cast = torch.autocast("cuda", torch.float16) if region != "off" else contextlib.nullcontext()
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda box: box.tensor):
        with cast:
            outs = op_cases.call(torch, row, ident, options, ops, specials)
    return "out %s saved %s" % (",".join(SHORT[str(o.dtype)] for o in outs) or "none",
                                saved_words(row, outs, boxes))


def one(torch, ident, args, options, ops, specials):
    lines = ["case %s|%s|%s" % (ident, args, options)]
    options = options.split()
    if "noevents" in options:
        return lines
    for dtype, region in HALF_MODES if "half" in options else MODES:
        if region != "off" and "inner" in options:
            continue
        try:
            text = one_mode(torch, ident, args, options, ops, specials, dtype, region)
        except Exception as error:
            text = op_cases.refusal(error)
        lines.append("%s %s %s" % (dtype, region, text))
    return lines


def main():
    nogpu.enter()
    import torch
    words = sys.argv[1:]
    only = words[words.index("--only") + 1] if "--only" in words else ""
    torch.cuda.init()
    torch.set_num_threads(1)
    torch.empty(1, device="cuda")
    ops, specials = op_cases.op_table(), op_cases.special(torch)
    lines = []
    kept = {} if "--print" in words else op_cases.written(OUT)
    for ident, args, options in op_cases.rows():
        row = "case %s|%s|%s" % (ident, args, options)
        if only and only not in "%s %s" % (ident, args) and row in kept:
            lines += [row] + kept[row]
        elif "--print" not in words or only in "%s %s" % (ident, args):
            lines += one(torch, ident, args, options, ops, specials)
    if "--print" in words:
        print("\n".join(lines))
        return 0
    with open(OUT, "w") as f:
        f.write("# torch %s, made by tests/oracle/op_policies.py\n" % torch.__version__)
        f.write("\n".join(lines) + "\n")
    bad = [l for l in lines if " error " in l]
    print("%d rows, %d refusals, %d bytes" % (len(op_cases.rows()), len(bad), os.path.getsize(OUT)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
