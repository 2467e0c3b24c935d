#!/usr/bin/env python3
"""tests/oracle/prelude_loop.py - shows that the prelude's loop, toggles, modules and optimizers together train a net
file with the very memory events that tests/oracle/loop.py has, which is plain PyTorch.

    python3 tests/oracle/prelude_loop.py NET.py ... [--grid] [--without TOGGLE]

With --grid every toggle alone and some pairs, but for those with TOGGLE (inplace runs on the CPU, which takes long for
large nets). Exit status 1 where an event or a place between two phases differs.
"""
import os
import re
import sys

import nogpu

GRID = (
    {}, {"optimizer": "momentum"}, {"optimizer": "adam"}, {"optimizer": "adamw"}, {"chunk-loss": "3"},
    {"optimizer": "adam", "foreach": "off"}, {"optimizer": "momentum", "foreach": "off"}, {"zero-grad": "zeros"},
    {"zero-grad": "zeros", "optimizer": "adam"}, {"drop-outputs": "on"}, {"drop-outputs": "early"},
    {"accumulate": "2"}, {"accumulate": "2", "drop-outputs": "on"}, {"data": "once"}, {"grad": "eval"},
    {"grad": "no_grad"}, {"grad": "no_grad", "drop-outputs": "on"}, {"freeze": "half"}, {"half": "on"},
    {"inplace": "on"}, {"amp": "bf16"}, {"amp": "fp16"}, {"amp": "fp16", "optimizer": "adam"}, {"checkpoint": "blocks"},
    {"checkpoint": "segments=2"}, {"checkpoint": "sqrt"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant"},
    {"checkpoint": "segments=3", "checkpoint-impl": "reentrant"},
    {"checkpoint": "sqrt", "checkpoint-impl": "reentrant", "amp": "fp16", "preserve-rng": "off"},
    {"checkpoint": "blocks", "amp": "bf16"}, {"checkpoint": "blocks", "grad": "no_grad"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant", "inplace": "on", "accumulate": "2"},
)


def theirs(path, given, decided):
    import torch
    import events as ev
    import loop
    import netfile
    import record
    import toggles as tg
    net = netfile.NetFile(path)
    settings = tg.settle(given, net)
    torch.cuda.init()
    torch.cuda.memory._record_memory_history("all", context=None, stacks="python", max_entries=20000000)
    marks = record.Marks()
    model, optimizer, scaler, notes = record.make(net, settings, decided)
    loop.train(net, model, optimizer, scaler, settings, "cuda", marks)
    return listed(torch, ev, marks, settings)


def all_toggles(settings):
    """What the interpreter gives the loop: every toggle, those that are not set with their defaults."""
    with open(os.path.join(nogpu.ROOT, "base", "toggle.def")) as f:
        rows = re.findall(r'^VS_TOGGLE\(VS_TOGGLE_\w+, "([^"]+)", "([^"]*)", "([^"]*)"', f.read(), re.M)
    for name, legal, default in rows:
        settings.setdefault(name, int(default) if legal == "N" else default)
    settings["rank"] = str(settings["rank"])


def ours(path, given, decided):
    import torch
    import events as ev
    import netfile
    import prelude_load
    import record
    import toggles as tg
    net = netfile.NetFile(path)
    settings = tg.settle(given, net)
    all_toggles(settings)
    settings.update({"formula": False, "dump": False})
    if not settings["freeze"]:
        settings["freeze"] = "none"
    if settings["inplace"] == "on":
        settings["inplace"] = ",".join(decided["on"]) or "off"
    marks = []
    ignore = lambda *values: None
    natives = dict(_step=lambda step: marks[0].step(step), _phase=ignore,
                   _mark=lambda name, micro: marks[0].phase(name), _done=ignore, _note_loss=ignore,
                   _note_saved=ignore, _note_inplace=ignore, _note_state=ignore, _note_refused=ignore,
                   _note_parameters=ignore)
    top = prelude_load.load(natives)
    own = prelude_load.net_file(top, path)
    torch.cuda.init()
    torch.cuda.memory._record_memory_history("all", context=None, stacks="python", max_entries=20000000)
    marks.append(record.Marks())
    torch.manual_seed(0)
    top.train_module.run(own, settings)
    return listed(torch, ev, marks[0], settings)


def listed(torch, ev, marks, settings):
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    found = ev.read(trace)[:marks.rows[-1][2]]
    rows = [(e.kind, e.bytes, e.id) for e in found]
    at = 0
    out = []
    for step, phase, end, counters in marks.rows:
        run = rows[at:end]
        out.append([step, phase, in_runs(run) if settings["amp"] != "off" else run])
        at = end
    return out


def in_runs(found):
    # autocast's cache is released in the order of a hash table
    from prelude_ops import in_runs
    return in_runs(found)


def compare(path, given):
    import case
    with open(path) as f:
        if "def train_step(" in f.read():
            # modules and backward(), which are PyTorch's here, would have to report the parts of such a step
            return "not compared, it has a step of its own", False
    decided = case.decide(path, given)
    a = case.in_child(lambda: theirs(path, given, decided))
    b = case.in_child(lambda: ours(path, given, decided))
    if "error" in a or "error" in b:
        if isinstance(a, dict) and a.get("refused") and isinstance(b, dict):
            return "refused by both: " + b["error"], False
        said = [r["error"] if isinstance(r, dict) else "ran" for r in (a, b)]
        return "torch: %s; prelude: %s" % tuple(said), True
    if len(a) != len(b):
        return "%d phases, %d with the prelude" % (len(a), len(b)), True
    events = 0
    for x, y in zip(a, b):
        if x[:2] != y[:2]:
            return "phase %s, %s with the prelude" % (x[:2], y[:2]), True
        for i, (e, f) in enumerate(zip(x[2] + [None], y[2] + [None])):
            if e != f:
                return "step %d %s, event %d: torch %s, prelude %s" % (x[0], x[1], i, e, f), True
        events += len(x[2])
    return "%d events" % events, False


def main():
    nogpu.enter()
    import warnings
    warnings.simplefilter("ignore")
    words = sys.argv[1:]
    grid = GRID if "--grid" in words else ({},)
    if "--without" in words:
        at = words.index("--without")
        left_out = words[at + 1]
        grid = [given for given in grid if left_out not in given]
        del words[at:at + 2]
    bad = 0
    for path in [w for w in words if not w.startswith("--")]:
        for given in grid:
            text, wrong = compare(path, given)
            bad += wrong
            print("%s %s %s: %s" % ("WRONG" if wrong else "same ", path.rpartition("/")[2], given, text), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
