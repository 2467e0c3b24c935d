"""tests/programs/figures.py - what PyTorch says of its memory at the end of a program.

One line, which tests/programs/corpus.c reads: the three peaks and the rank. Some frameworks set the peaks back for
figures of their own; what they were before that counts, too.
"""
import os
import sys

import torch

NAMES = [name + "_bytes.all.peak" for name in ("allocated", "requested", "reserved")]
before = [0, 0, 0]
reset = torch.cuda.reset_peak_memory_stats


def peaks():
    stats = torch.cuda.memory_stats()
    return [max(was, stats.get(name, 0)) for was, name in zip(before, NAMES)]


def reset_peak_memory_stats(device=None):
    before[:] = peaks()
    reset(device)


def figures():
    # one write, so that the lines of several ranks do not mix
    is_spawned = torch.distributed.is_available() and torch.distributed.is_initialized()
    rank = str(torch.distributed.get_rank()) if is_spawned else os.environ.get("RANK", "0")
    line = " ".join(["FIGURES", *map(str, peaks()), rank])
    sys.stdout.flush()
    os.write(1, (line + "\n").encode())


torch.cuda.reset_peak_memory_stats = reset_peak_memory_stats
