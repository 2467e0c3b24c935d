#!/usr/bin/env python3
"""tests/oracle/op_devices.py - which calls of tests/engine/op_cases.def PyTorch refuses where one tensor is on the
host, the others on the device.

    python3 tests/oracle/op_devices.py [--only WORD] [--print]

Writes tests/golden/oracle/op_devices.txt; with --print to the screen instead. Each row with several tensors gives up to
three calls a tensor: that tensor on the host; a number on the host (a 0-d tensor) in its place; a number on the device
in its place and the others on the host. Calls that fail for another reason (the shape of a 0-d tensor) are left out.

    case ID|ARGUMENTS|OPTIONS   the arguments of the call; `h` marks what is on the host
    done cuda,cpu               the devices of the results; forward and backward ran
    forward TEXT                PyTorch refuses the call
    backward TEXT               or its backward
"""
import os
import re
import sys

import nogpu
import op_cases

OUT = os.path.join(os.path.dirname(op_cases.OUT), "op_devices.txt")
TENSOR = re.compile(r"\[[\d,]*\]\w*")


def number_like(text):
    """A 0-d tensor of the same type and use."""
    flags = text.split("]")[1]
    return "[]" + "".join(a + b for a, b in re.findall(r"([a-z])(\d*)", flags) if a in "ibnpm")


def on_host(text):
    return text + "h"


def calls(args):
    """The arguments with one tensor on the other device than the rest."""
    spans = [m.span() for m in TENSOR.finditer(args)]
    texts = [args[a:b] for a, b in spans]
    if len(spans) < 2 or any("h" in t.split("]")[1] for t in texts):
        return
    for k, text in enumerate(texts):
        yield put(args, spans, {k: on_host(text)})
        if not text.startswith("[]"):
            yield put(args, spans, {k: on_host(number_like(text))})
        yield put(args, spans, {**{i: on_host(t) for i, t in enumerate(texts)}, k: number_like(text)})


def put(args, spans, changed):
    out, at = "", 0
    for k, (a, b) in enumerate(spans):
        out += args[at:a] + changed.get(k, args[a:b])
        at = b
    return out + args[at:]


def outcome(torch, ident, args, options, ops, specials):
    dtype = torch.float16 if "half" in options else torch.float32
    try:
        row = op_cases.Row(torch, args, dtype, "cuda")
        outs = op_cases.call(torch, row, ident, options, ops, specials)
    except Exception as error:
        return "forward " + str(error).split("\n")[0][:90]
    devices = ",".join(o.device.type for o in outs) or "none"
    try:
        op_cases.backward(torch, outs, [op_cases.weight(torch, o, options) for o in outs])
    except Exception as error:
        return "backward " + str(error).split("\n")[0][:90]
    return "done " + devices


def is_of_devices(text):
    return text.startswith("done") or re.search(r"device|cuda|cpu|CUDA|CPU|on GPU", text) is not None


def one(case, torch, ident, args, options, ops, specials):
    """In a process of its own: a kernel that is given the other device's address may crash."""
    def work():
        found = []
        for changed in calls(args):
            text = outcome(torch, ident, changed, options.split(), ops, specials)
            if is_of_devices(text):
                found += ["case %s|%s|%s" % (ident, changed, options), text]
        return found
    found = case.in_child(work) if len(TENSOR.findall(args)) > 1 else []
    return found if isinstance(found, list) else ["# %s|%s|%s: %s" % (ident, args, options, found["error"])]


def main():
    nogpu.enter()
    import torch
    import case
    words = sys.argv[1:]
    only = words[words.index("--only") + 1] if "--only" in words else ""
    torch.set_num_threads(1)
    ops, specials = op_cases.op_table(), op_cases.special(torch)
    lines = []
    for ident, args, options in op_cases.rows():
        if only in "%s %s" % (ident, args) and "inner" not in options and "noevents" not in options:
            lines += one(case, torch, ident, args, options, ops, specials)
    if "--print" in words:
        print("\n".join(lines))
        return 0
    with open(OUT, "w") as f:
        f.write("# torch %s, made by tests/oracle/op_devices.py\n" % torch.__version__)
        f.write("\n".join(lines) + "\n")
    print("%d lines, %d bytes" % (len(lines), os.path.getsize(OUT)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
