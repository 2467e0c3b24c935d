#!/usr/bin/env python3
"""tests/oracle/sharded_grid.py - our fully sharded runs beside PyTorch's, event by event, over a whole grid.

    python3 tests/oracle/sharded_grid.py RESULTS [--seconds N] [--only REGEX] [--again] [--alone] [--table]
                                         [--against OTHER]

RESULTS has a line of JSON for each run: `net`, `toggles`, and `events`: how many are equal; or `difference`: the first
one; or `refused`: what both say. Configurations that it has are not run again (--again: those that differed are), so
the grid is run in pieces: each call takes what is missing, small nets first, in an order that mixes toggles and is the
same in every call, for N seconds (600). At the end, and with --table at once, it prints how many of which kind are
equal, and each difference with how often it occurs. `vramscope match` compares; `make` comes first.

One process of PyTorch runs many configurations (see several.py), and ranks of a world that have the same rows of every
parameter are compared with one run of the first of them (`run_of` names its rank): PyTorch's ops depend on nothing else
of a rank. What differs is run again in a process of its own with its own rank, and with --alone everything is. With
--against the configurations of OTHER come first, and it says whether their lines are the same.
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

# 20 nets, small ones first; two steps show what the first one has made
NETS = tuple("%s.py" % n for n in (
    "tests/nets/mlp", "sample_nets/mlp_swish", "sample_nets/lenet", "tests/nets/conv_small", "tests/nets/unet_small",
    "tests/nets/cnn_input", "tests/nets/custom_function", "tests/nets/unet3d_small", "tests/nets/vit_small",
    "tests/nets/mlp_activations", "tests/nets/shared_module", "tests/nets/dense_small", "tests/nets/resnet_small",
    "tests/nets/gpt_tiny_sdpa", "tests/nets/gpt_tiny", "tests/nets/gpt_tiny_ckpt", "tests/nets/lstm_cells",
    "sample_nets/resnet18", "sample_nets/vit_tiny", "sample_nets/densenet_bc100"))
CHOICES = (
    ("reshard", ("on", "off")), ("mp-policy", ("off", "bf16")), ("accumulate", ("1", "2")),
    ("checkpoint", ("off", "blocks")), ("offload", ("off", "activations")), ("offload-policy", ("off", "cpu")),
)
RANKS = tuple({"world": str(w), "rank": str(r)} for w in (2, 8, 1024) for r in sorted({0, w // 2, w - 1}))
AT_ONCE = 32  # runs of one net in a process
FIXED = {"shard": "fsdp", "steps": "2", "batch": "2"}
BATCH = {"sample_nets/mlp_swish.py": "4"}  # its batch norm needs two samples in a part


def configurations():
    """All of them, net by net, mixed otherwise; the order depends on nothing but their texts. bfloat16, which some nets
    refuse, comes last."""
    every = [(net, dict(FIXED, batch=BATCH.get(net, FIXED["batch"]), **rank,
                        **dict(zip((n for n, v in CHOICES), values))))
             for net in NETS for rank in RANKS for values in itertools.product(*(v for n, v in CHOICES))]
    return sorted(every, key=lambda c: (NETS.index(c[0]), c[1]["mp-policy"] == "bf16",
                                        hashlib.sha256(name_of(c).encode()).digest()))


def name_of(configuration):
    net, toggles = configuration
    return " ".join([net] + ["%s=%s" % pair for pair in sorted(toggles.items())])


# ---- one configuration ----


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


def line_of(net, toggles, theirs):
    """The line of RESULTS, from PyTorch's events."""
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


def alone(net, toggles):
    import several
    return line_of(net, toggles, next(several.events_of([(net, toggles)])))


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


def groups_of(missing):
    """Those that one run of PyTorch answers, together: [[(net, toggles)]]."""
    import several
    groups = {}
    for net, toggles in missing:
        others = tuple(sorted((n, v) for n, v in toggles.items() if n != "rank"))
        key = net, others, several.shards(net, int(toggles["world"]), int(toggles["rank"]))
        groups.setdefault(key, []).append((net, toggles))
    return list(groups.values())


def lines_of(groups):
    import several
    for group, theirs in zip(groups, several.events_of([group[0] for group in groups])):
        for net, toggles in group:
            line = line_of(net, toggles, theirs)
            if "difference" in line:
                line = alone(net, toggles)
            elif toggles is not group[0][1]:
                line["run_of"] = group[0][1]["rank"]
            yield line


def run(path, seconds, only, again, each_alone, first):
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # it warns of every change of rank
    nogpu.enter()
    import several
    several.prepare()
    done = read(path)
    end = time.monotonic() + seconds

    def is_missing(name):
        return re.search(only, name) and (name not in done or again and "difference" in done[name])

    missing = [c for c in configurations() if is_missing(name_of(c))]
    missing.sort(key=lambda c: name_of(c) not in first)
    groups = [[c] for c in missing] if each_alone else groups_of(missing)
    at_once = 1 if each_alone else AT_ONCE
    with open(path, "a") as f:
        while groups and time.monotonic() < end:
            now = [g for g in groups[:at_once] if g[0][0] == groups[0][0][0]]
            groups = groups[len(now):]
            for line in lines_of(now):
                f.write(json.dumps(line) + "\n")
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


def compare_with(path, other):
    """Says how many lines of both files say the same, and prints those that do not."""
    ours, theirs = read(path), read(other)
    both = sorted(ours.keys() & theirs.keys())
    said = lambda line: {k: v for k, v in line.items() if k != "run_of"}
    unequal = [name for name in both if said(ours[name]) != said(theirs[name])]
    print("%d lines are in both files, %d of them run with another rank here: %d say the same" % (
        len(both), sum("run_of" in ours[name] for name in both), len(both) - len(unequal)))
    for name in unequal:
        print("%s\n  %s\n  %s" % (name, said(ours[name]), said(theirs[name])))


def main():
    words = sys.argv[1:]
    options = {"--seconds": "600", "--only": "", "--against": ""}
    flags = [w for w in words if w in ("--again", "--alone", "--table")]
    words = [w for w in words if w not in flags]
    for name in list(options):
        if name in words:
            at = words.index(name)
            options[name] = words[at + 1]
            del words[at:at + 2]
    if len(words) != 1:
        raise SystemExit(__doc__)
    if "--table" not in flags:
        run(words[0], float(options["--seconds"]), options["--only"], "--again" in flags, "--alone" in flags,
            read(options["--against"]))
    table(words[0])
    if options["--against"]:
        compare_with(words[0], options["--against"])


if __name__ == "__main__":
    main()
