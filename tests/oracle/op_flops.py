#!/usr/bin/env python3
"""tests/oracle/op_flops.py - what torch.utils.flop_counter counts for each row of tests/engine/op_cases.def: forward
and backward.

    python3 tests/oracle/op_flops.py [--print]

Writes tests/golden/oracle/op_flops.txt; with --print to the screen instead. A line per row for which anything is
counted:

    ID|ARGUMENTS|OPTIONS forward N backward N

On CUDA or its stand-in, in float32 (float16 for rows made for it). Rows that PyTorch refuses there are left out.
"""
import logging
import os
import sys

import nogpu
import op_cases

OUT = os.path.join(os.path.dirname(op_cases.OUT), "op_flops.txt")


def one(torch, ident, args, options, ops, specials):
    from torch.utils.flop_counter import FlopCounterMode
    words = options.split()
    if "noevents" in words:
        return None
    row = op_cases.Row(torch, args, torch.float16 if "half" in words else torch.float32, "cuda")
    counts = []
    with FlopCounterMode(display=False) as counter:
        try:
            outs = op_cases.call(torch, row, ident, words, ops, specials)
            counts.append(counter.get_total_flops())
            op_cases.backward(torch, outs, [op_cases.weight(torch, o, words) for o in outs])
        except (RuntimeError, IndexError, TypeError, ValueError):
            return None
        counts.append(counter.get_total_flops() - counts[0])
    if not any(counts):
        return None
    return "%s|%s|%s forward %d backward %d" % (ident, args, options, *counts)


def main():
    nogpu.enter()
    logging.disable(logging.WARNING)
    import torch
    torch.cuda.init()
    torch.set_num_threads(1)
    torch.empty(1, device="cuda")
    ops, specials = op_cases.op_table(), op_cases.special(torch)
    lines = [one(torch, *row, ops, specials) for row in op_cases.rows()]
    lines = [line for line in lines if line]
    if "--print" in sys.argv[1:]:
        print("\n".join(lines))
        return 0
    with open(OUT, "w") as f:
        f.write("# torch %s, made by tests/oracle/op_flops.py\n" % torch.__version__)
        f.write("\n".join(lines) + "\n")
    print("%d rows" % len(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
