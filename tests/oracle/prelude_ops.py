#!/usr/bin/env python3
"""tests/oracle/prelude_ops.py - shows that the prelude does what PyTorch does: every memory event of its modules,
optimizers, GradScaler and checkpoint against those of PyTorch's own Python, and their numbers on the CPU.

    python3 tests/oracle/prelude_ops.py [NAME ...]     cases whose name contains one of the words

Two runs of a case, one with torch, one with the prelude: the same list of allocations and frees (sizes, order, which
one is freed) on CUDA or its stand-in, and bit-identical results on the CPU. Exit status 1 where any differs.
"""
import gc
import sys
import warnings

import nogpu


def main():
    nogpu.enter()
    import torch
    import prelude_cases
    import prelude_load

    warnings.simplefilter("ignore")
    words = sys.argv[1:]
    mine = prelude_load.load()
    torch.cuda.init()
    torch.empty(1, device="cuda")
    bad = 0
    count = 0
    for name, case in prelude_cases.cases():
        if words and not any(w in name for w in words):
            continue
        count += 1
        wrong = compare(torch, mine, case)
        if wrong:
            bad += 1
            print("%s: %s" % (name, wrong))
    print("%d cases, %d differ" % (count, bad))
    return 1 if bad else 0


def compare(torch, mine, case):
    if case.on_cuda:
        try:
            real_events = events_of(torch, torch, case)
            own_events = events_of(torch, mine, case)
        except Exception as error:
            return "%s: %s" % (type(error).__name__, error)
        for i, (a, b) in enumerate(zip(real_events + [None], own_events + [None])):
            if a != b:
                return "event %d of %d/%d: torch %s, prelude %s" % (
                    i, len(real_events), len(own_events), a, b)
    if case.on_cpu:
        a, b = results_of(torch, torch, case), results_of(torch, mine, case)
        if len(a) != len(b) or not all(same(torch, x, y) for x, y in zip(a, b)):
            return "other numbers on the CPU"
    return None


def same(torch, a, b):
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(
        a.detach().nan_to_num(), b.detach().nan_to_num())


def events_of(torch, lib, case):
    import events
    gc.collect()
    torch.manual_seed(0)
    torch.cuda.memory._record_memory_history("all", context=None, stacks="python", max_entries=1000000)
    before = len(torch.cuda.memory._snapshot()["device_traces"][0])
    kept = case.run(lib, "cuda")
    trace = torch.cuda.memory._snapshot()["device_traces"][0][before:]
    torch.cuda.memory._record_memory_history(None)
    del kept
    found = []
    for e in events.read(trace):
        found.append((e.kind, e.bytes, e.id))
    return in_runs(found) if case.any_order else found


def in_runs(found):
    """Frees with nothing between them, sorted."""
    out, frees = [], []
    for e in found:
        if e[0] == "free":
            frees.append(e)
        else:
            out += sorted(frees) + [e]
            frees = []
    return out + sorted(frees)


def results_of(torch, lib, case):
    torch.manual_seed(0)
    out = []
    collect(torch, case.run(lib, "cpu"), out)
    return out


def collect(torch, value, out):
    if isinstance(value, torch.Tensor):
        out.append(value)
        if value.is_leaf and value.grad is not None:
            out.append(value.grad)
    elif isinstance(value, torch.nn.Module):
        for t in list(value.parameters()) + list(value.buffers()):
            collect(torch, t, out)
    elif isinstance(value, (list, tuple)):
        for v in value:
            collect(torch, v, out)


if __name__ == "__main__":
    sys.exit(main())
