#!/usr/bin/env python3
"""tests/oracle/snapshot.py - a net file's training run as PyTorch's own memory snapshot.

    python3 tests/oracle/snapshot.py NET.py OUT.pickle.gz [--stacks all|python] [--notes on] [--last N]
                                     [--TOGGLE VALUE ...]

The program is loop.py's, run as tests/oracle/run.py runs it, on a GPU or its stand-in, so it allocates what
`vramscope record NET.py` with the same toggles does. --notes on puts each phase's name on its events (user_metadata)
and each step into a range (ProfilerStep#N). --last N keeps the last N events only, as a full ring does. Paths are
shortened, and frames outside of PyTorch and Python left out.
"""
import gzip
import os
import pickle
import sys
import sysconfig

import nogpu

CPP = ("at::", "c10::", "torch::", "THP")


class Notes:
    """An observer of loop.train that notes where it is, if asked to."""

    ORDER = {"setup": "data", "data": "forward", "forward": "loss", "loss": "backward",
             "backward": "optimizer", "optimizer": "zero_grad", "zero_grad": "data"}

    def __init__(self, torch, on):
        self.torch, self.on, self.range = torch, on, None

    def note(self, text):
        if self.on:
            self.torch.cuda.memory._set_memory_metadata(text)

    def phase(self, name):
        self.note(self.ORDER[name])

    def step(self, index):
        if self.range is not None:
            self.range.__exit__(None, None, None)
        if self.on:
            self.range = self.torch.profiler.record_function("ProfilerStep#%d" % index)
            self.range.__enter__()

    def loss(self, value):
        pass

    def batch(self, batch):
        pass

    def loss_ended(self, before_backward):
        pass

    def finish(self):
        if self.range is not None:
            self.range.__exit__(None, None, None)
        self.note("")


def words(argv):
    own = {"stacks": "all", "notes": "off", "last": "0"}
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


def short(path, roots):
    for root, name in roots:
        if path.startswith(root):
            return name + path[len(root):]
    return path


class Shortener:
    """Equal frames and equal stacks become one object each, as PyTorch writes them."""

    def __init__(self):
        here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.roots = [(sysconfig.get_path("purelib"), "/usr/lib/python3/site-packages"),
                      (sysconfig.get_path("stdlib"), "/usr/lib/python3.11"), (here, "/home/user")]
        self.frames, self.stacks, self.texts = {}, {}, {}

    def frame(self, frame):
        python = frame["filename"].endswith(".py")
        if not python and not frame["name"].startswith(CPP):
            return None
        path = short(os.path.abspath(frame["filename"]), self.roots) if python else "??"
        key = (frame["name"], path, frame["line"] if python else 0)
        return self.frames.setdefault(key, {"name": key[0], "filename": key[1], "line": key[2]})

    def stack(self, frames):
        kept = [f for f in map(self.frame, frames) if f is not None]
        return self.stacks.setdefault(tuple(map(id, kept)), kept)

    def shorten(self, snapshot):
        for trace in snapshot["device_traces"]:
            for entry in trace:
                if "frames" in entry:
                    entry["frames"] = self.stack(entry["frames"])
                for key, value in entry.items():
                    if isinstance(value, (str, tuple)):
                        entry[key] = self.texts.setdefault(value, value)
        for segment in snapshot["segments"]:
            segment["frames"] = []
            for block in segment["blocks"]:
                block["frames"] = self.stack(block["frames"])
        for key in ("host_segments", "host_traces"):
            snapshot.pop(key, None)


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
    torch.cuda.memory._record_memory_history("all", context="all", stacks=own["stacks"],
                                             max_entries=int(own["last"]) or sys.maxsize)
    model, optimizer, scaler, _ = record.make(net, toggles, None)
    loop.train(net, model, optimizer, scaler, toggles, "cuda", Notes(torch, own["notes"] == "on"))
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(None)
    Shortener().shorten(snapshot)
    with open(out, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0, filename="") as z:
        z.write(pickle.dumps(snapshot, 4))


if __name__ == "__main__":
    main()
