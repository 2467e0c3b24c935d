"""tests/oracle/several.py - PyTorch's events of several sharded cases, one after the other in one process.

Most of a short case's time is spent once in each process: first calls, and reading the libraries' symbols for the
frames of the allocator's history. What a case leaves behind in the process is memory only: its model is dropped and
collected, its process group destroyed, and a later free of its blocks belongs to no other case.
"""
import gc
import os

import torch
import torch.distributed as dist

import case
import events
import netfile
import nogpu
import record
import toggles as tg

ROOT = nogpu.ROOT
EVENTS = 40_000  # of all cases of a process: their frames are in memory at once


def prepare():
    """What all children share: symbols, modules, and no garbage that each collection goes through."""
    import torch.distributed.fsdp  # noqa: F401
    case.warm()
    gc.collect()
    gc.freeze()


def train(net, toggles):
    """One case; its marks."""
    file = netfile.NetFile(os.path.join(ROOT, net))
    settled = tg.settle(toggles, file)
    marks = record.Marks()
    try:
        model, optimizer, scaler, notes = record.make(file, settled, None)
        with record.distributed.loss_context(settled):
            record.loop.train(file, model, optimizer, scaler, settled, "cuda", marks)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return marks


def rows_of(found, marks):
    """Rows for `vramscope match` of the events of one case."""
    record.place(found, marks.rows)
    own = {e.id for e in found if e.kind == "alloc"}
    return [e.row() for e in events.without_scratch([e for e in found if e.id in own])]


def run(cases):
    """[{"rows"}] of the first of these cases, as many as one process takes; the last one may be {"error"} instead."""
    torch.cuda.init()
    torch.cuda.memory._record_memory_history("all", context="all", stacks="all", max_entries=record.HISTORY)
    zero = record.Marks.count()
    spans, error = [], None
    for net, toggles in cases:
        begin = record.Marks.count() - zero
        if begin > EVENTS:
            break
        try:
            marks = train(net, toggles)
        except Exception as failure:
            error = "%s: %s" % (type(failure).__name__, str(failure).split("\n")[0])
            break
        spans.append((begin, marks))
        gc.collect()
    done = []
    if spans:
        found = events.read(torch.cuda.memory._snapshot()["device_traces"][0])
        done = [{"rows": rows_of(found[begin:begin + marks.rows[-1][2]], marks)} for begin, marks in spans]
    return done + ([{"error": error}] if error else [])


def events_of(cases):
    """{"rows"} or {"error"} of each case, in order. An error counts if the process had run nothing before."""
    cases = list(cases)
    while cases:
        answer = case.in_child(lambda: {"done": run(cases)})
        if "done" not in answer:
            answer = case.in_child(lambda: {"done": run(cases[:1])})
        done = answer.get("done", [answer])
        if len(done) > 1 and "error" in done[-1]:
            done.pop()
        yield from done
        cases = cases[len(done):]


def shards(net, world, rank):
    """The rows of each parameter that a process has: ranks where they are equal run the same ops."""
    key = (net, world)
    if key not in _rows:
        with torch.device("meta"):
            model = netfile.NetFile(os.path.join(ROOT, net)).model()
        _rows[key] = [(-(-p.shape[0] // world) if p.dim() else 1, p.shape[0] if p.dim() else 1)
                      for p in model.parameters()]
    return tuple(max(0, min(size, rows - rank * size)) for size, rows in _rows[key])


_rows = {}
