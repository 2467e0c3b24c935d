#!/usr/bin/env python3
"""A net file's training run as PyTorch's own memory snapshot, and what was true of each allocation in it.

    python3 tests/oracle/snapshot.py NET.py OUT.pickle.gz [--stacks all|python] [--truth OUT.tsv] [--marks on]
                                     [--TOGGLE VALUE ...]

The program is loop.py's, run as tests/oracle/run.py runs it, on a GPU or its stand-in. What a snapshot does not say, but the
program knew, goes to --truth: one line an allocation of the history, in order: bytes, step, phase. --marks on puts
each phase into a record_function of its name.
"""
import gzip
import io
import pickle
import sys

import nogpu


class Truth:
    """An observer of loop.train: how many allocations there were at the end of each phase."""

    def __init__(self, torch, marks):
        self.torch = torch
        self.rows, self.now = [], -1
        self.marks, self.open = marks, None

    def phase(self, name):
        stats = self.torch.cuda.memory_stats()
        self.rows.append((self.now, name, stats.get("allocation.all.allocated", 0)))

    def step(self, index):
        self.now = index

    def loss(self, value):
        pass

    def finish(self):
        pass


def words(argv):
    own = {"stacks": "all", "truth": None, "marks": "off"}
    given, rest, argv = {}, [], list(argv)
    while argv:
        word = argv.pop(0)
        if word.startswith("--"):
            (own if word[2:] in own else given)[word[2:]] = argv.pop(0)
        else:
            rest.append(word)
    if len(rest) != 2:
        raise SystemExit(__doc__)
    return rest, own, given


def write(path, snapshot):
    data = io.BytesIO()
    pickle.dump(snapshot, data)
    with open(path, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0, compresslevel=9) as z:
        z.write(data.getvalue())


def main():
    (net_path, out), own, given = words(sys.argv[1:])
    nogpu.enter()
    import torch
    import loop
    import netfile
    import record
    import toggles as tg
    net = netfile.NetFile(net_path)
    toggles = tg.settle(given, net)
    torch.cuda.init()
    torch.cuda.memory._record_memory_history("all", context="all", stacks=own["stacks"])
    truth = Truth(torch, own["marks"] == "on")
    model, optimizer, scaler, _ = record.make(net, toggles, None)
    loop.train(net, model, optimizer, scaler, toggles, "cuda", truth)
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(None)
    write(out, snapshot)


if __name__ == "__main__":
    main()
