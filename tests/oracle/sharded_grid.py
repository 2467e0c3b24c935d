#!/usr/bin/env python3
"""tests/oracle/sharded_grid.py - our fully sharded runs beside PyTorch's, event by event, over a whole grid.

    python3 tests/oracle/sharded_grid.py RESULTS [--seconds N] [--only REGEX] [--again] [--table]

RESULTS has a line of JSON for each run: `net`, `toggles`, and `events`: how many are equal; or `difference`: the first
one; or `refused`: what both say. Configurations that it has are not run again (--again: those that differed are), so
the grid is run in pieces: each call takes what is missing, in an order that mixes nets and toggles and is the same in
every call, for N seconds (600). At the end, and with --table at once, it prints how many of which kind are equal, and
each difference with how often it occurs. `vramscope match` compares; `make` comes first.
"""
import collections
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import nogpu

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VRAMSCOPE = os.path.join(ROOT, "build", "vramscope")

# 20 nets, those of sample_nets with small batches; two steps show what the first one has made
NETS = tuple("tests/nets/%s.py" % n for n in (
    "cnn_input", "conv_small", "custom_function", "dense_small", "gpt_tiny", "gpt_tiny_ckpt", "gpt_tiny_sdpa",
    "lstm_cells", "mlp", "mlp_activations", "resnet_small", "shared_module", "unet3d_small", "unet_small",
    "vit_small")) + tuple("sample_nets/%s.py" % n for n in (
        "lenet", "mlp_swish", "resnet18", "vit_tiny", "densenet_bc100"))
CHOICES = (
    ("reshard", ("on", "off")), ("mp-policy", ("off", "bf16")), ("accumulate", ("1", "2")),
    ("checkpoint", ("off", "blocks")), ("offload", ("off", "activations")), ("offload-policy", ("off", "cpu")),
)
RANKS = tuple({"world": str(w), "rank": str(r)} for w in (2, 8, 1024) for r in sorted({0, w // 2, w - 1}))
FIXED = {"shard": "fsdp", "steps": "2", "batch": "2"}


def configurations():
    """All of them, mixed; the order depends on nothing but their texts."""
    every = [(net, dict(FIXED, **rank, **dict(zip((n for n, v in CHOICES), values))))
             for net in NETS for rank in RANKS for values in itertools.product(*(v for n, v in CHOICES))]
    return sorted(every, key=lambda c: hashlib.sha256(name_of(c).encode()).digest())


def name_of(configuration):
    net, toggles = configuration
    return " ".join([net] + ["%s=%s" % pair for pair in sorted(toggles.items())])


# ---- one run ----


def events_of(net, toggles):
    """PyTorch's events of tensors, as rows of a list for `vramscope match`."""
    import torch

    import events
    import netfile
    import record
    import toggles as tg
    file = netfile.NetFile(os.path.join(ROOT, net))
    settled = tg.settle(toggles, file)
    torch.cuda.init()
    torch.cuda.memory._record_memory_history("all", context="all", stacks="all", max_entries=record.HISTORY)
    marks = record.Marks()
    model, optimizer, scaler, notes = record.make(file, settled, None)
    record.loop.train(file, model, optimizer, scaler, settled, "cuda", marks)
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    found = events.read(trace)[:marks.rows[-1][2]]
    record.place(found, marks.rows)
    return [e.row() for e in events.without_scratch(found)]


def matched(net, toggles, rows):
    """What `vramscope match` says of them."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
        f.write("kind,bytes,id,op,step,phase\n")
        for kind, size, op, ident, step, phase in rows:
            f.write("%s,%d,%d,%s,%s,%s\n" % (kind, size, ident, op, step, phase))
        f.flush()
        words = [w for n, v in toggles.items() for w in ("--" + n, v)]
        run = subprocess.run([VRAMSCOPE, "match", os.path.join(ROOT, net), f.name, "--json"] + words,
                             capture_output=True, text=True)
    return json.loads(run.stdout) if run.stdout else {"error": run.stderr.strip().split("\n")[-1]}


def ours_refuses(net, toggles):
    words = [w for n, v in toggles.items() for w in ("--" + n, v)]
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([VRAMSCOPE, "record", os.path.join(ROOT, net), "--device", "meta", "-o",
                              os.path.join(folder, "t.db")] + words, capture_output=True, text=True)
    if not run.returncode:
        return None
    lines = run.stderr.strip().split("\n")
    said = next((x for x in lines if x.startswith("vramscope: ") and "warning" not in x), lines[-1])
    return said.replace(ROOT + os.sep, "").replace("vramscope: %s: " % net, "")


def side(of):
    return "its end" if of is None else "%s of %d bytes (%s)" % (of["kind"], of["bytes"], of.get("op") or "-")


def compare(case, net, toggles):
    theirs = case.in_child(lambda: {"rows": events_of(net, toggles)})
    line = {"net": net, "toggles": toggles}
    if "error" in theirs:
        ours = ours_refuses(net, toggles)
        if ours:
            return dict(line, refused=[theirs["error"], ours])
        return dict(line, difference="PyTorch refuses it, ours runs: " + theirs["error"])
    result = matched(net, toggles, theirs["rows"])
    if "error" in result:
        return dict(line, difference="ours refuses it: " + result["error"])
    if result["equal"]:
        return dict(line, events=result["events"])
    at = result["difference"]
    return dict(line, difference="%s: PyTorch has %s, ours %s" % (at["why"], side(at["recorded"]), side(at["ours"])),
                matched=result["matched"], events_in_all=result["events"])


# ---- the grid ----


def read(path):
    found = {}
    if os.path.exists(path):
        with open(path) as f:
            for text in f:
                if text.endswith("\n"):  # a line that was cut short is run again
                    line = json.loads(text)
                    found[name_of((line["net"], line["toggles"]))] = line
    return found


def run(path, seconds, only, again):
    nogpu.enter()
    import case
    case.warm()
    done = read(path)
    end = time.monotonic() + seconds
    with open(path, "a") as f:
        for net, toggles in configurations():
            name = name_of((net, toggles))
            if time.monotonic() > end:
                break
            if not re.search(only, name) or name in done and not (again and "difference" in done[name]):
                continue
            f.write(json.dumps(compare(case, net, toggles)) + "\n")
            f.flush()


def table(path):
    lines = list(read(path).values())
    equal = [x for x in lines if "events" in x]
    refused = [x for x in lines if "refused" in x]
    print("%d of %d configurations: %d equal (%d events), %d refused by both, %d differ" % (
        len(lines), len(configurations()), len(equal), sum(x["events"] for x in equal), len(refused),
        len(lines) - len(equal) - len(refused)))
    for axis in [n for n, v in CHOICES] + ["world", "net"]:
        counts = collections.Counter()
        for x in lines:
            value = x["net"] if axis == "net" else x["toggles"][axis]
            counts[value, "difference" not in x] += 1
        for value in sorted({v for v, ok in counts}):
            print("  %-15s %-30s %5d equal, %3d differ" % (axis, value, counts[value, True], counts[value, False]))
    for kind in ("difference", "refused"):
        reasons = collections.Counter(str(x[kind]) for x in lines if kind in x)
        example = {str(x[kind]): name_of((x["net"], x["toggles"])) for x in lines if kind in x}
        for text, count in reasons.most_common():
            print("%5d %s: %s\n      such as %s" % (count, kind, text, example[text]))


def main():
    words = sys.argv[1:]
    options = {"--seconds": "600", "--only": ""}
    flags = [w for w in words if w in ("--again", "--table")]
    words = [w for w in words if w not in flags]
    for name in list(options):
        if name in words:
            at = words.index(name)
            options[name] = words[at + 1]
            del words[at:at + 2]
    if len(words) != 1:
        raise SystemExit(__doc__)
    if "--table" not in flags:
        run(words[0], float(options["--seconds"]), options["--only"], "--again" in flags)
    table(words[0])


if __name__ == "__main__":
    main()
