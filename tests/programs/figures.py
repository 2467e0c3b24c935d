"""tests/programs/figures.py - what PyTorch says of its memory at the end of a program.

One line, which tests/programs/test_programs.c reads.
"""
import torch


def figures():
    stats = torch.cuda.memory_stats()
    print("FIGURES", *(stats[name + "_bytes.all.peak"] for name in ("allocated", "requested", "reserved")))
