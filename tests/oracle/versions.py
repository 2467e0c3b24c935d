#!/usr/bin/env python3
"""tests/oracle/versions.py - compares versions of PyTorch: which events differ, for which nets.

    python3 tests/oracle/versions.py record [--library build/vramscope_standin.so] [--only REGEX] PYTHON...
    python3 tests/oracle/versions.py compare [--full]

`record` runs each net of NETS under each Python (of PyTorch 2.4, 2.6, ...) over the GPU that vramscope simulates, and
writes tests/golden/oracle/versions/torch-VERSION.jsonl.gz: one line for each net and toggles, every event as
make_golden.py has them, and the toggle `torch`. A line whose memory is that of the newest version has that one's
toggles as "newest" instead of events.
`compare` prints what differs: for each version, by net, the first event.
"""
import gzip
import json
import os
import re
import subprocess
import sys

import make_golden
import nogpu

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
ROOT = os.path.dirname(TESTS)
FOLDER = os.path.join(TESTS, "golden", "oracle", "versions")
NEWEST = "2.15"

TOGGLES = ({}, {"amp": "fp16"}, {"amp": "bf16"}, {"half": "on"}, {"checkpoint": "blocks"},
           {"checkpoint": "blocks", "checkpoint-impl": "reentrant"}, {"optimizer": "adam"},
           {"optimizer": "adamw", "foreach": "off"}, {"optimizer": "momentum"}, {"accumulate": "2"},
           {"zero-grad": "zeros"}, {"grad": "no_grad"})
WHOLE = ("gpt_tiny", "gpt_tiny_sdpa", "resnet_small", "unet_small", "vit_small", "mlp", "lstm_cells", "custom_function")


# ---- in a process of one PyTorch ----


def cases():
    """(net, toggles, whether with what kernels and libraries work in)"""
    for net in make_golden.nets("tests/nets/ops"):
        yield net, {}, False
        yield net, {}, True
    for name in WHOLE:
        for toggles in TOGGLES:
            yield "tests/nets/%s.py" % name, toggles, False
        yield "tests/nets/%s.py" % name, {}, True


def worker(library, pattern):
    """A line of JSON for each case."""
    os.environ["VRAMSCOPE_STANDIN"] = library
    nogpu.enter()
    import case
    case.warm()
    for net, toggles, scratch in cases():
        if not re.search(pattern, net):
            continue
        given = dict(toggles, steps="1") if "/ops/" in net else toggles
        report = case.memory(os.path.join(ROOT, net), given, scratch)
        line = {"net": net, "toggles": dict(toggles, target=nogpu.GPU) if scratch else toggles}
        if "error" in report:
            line["error"] = report["error"]
            if report.get("refused"):
                line["refused"] = True
        else:
            line["torch"] = report["torch"]
            line["events"] = report["event_list"]
        print(json.dumps(line), flush=True)


# ---- all of them ----


def record(library, pattern, pythons):
    found = {}
    for python in pythons:
        lines = []
        with subprocess.Popen([python, os.path.abspath(__file__), "worker", library, pattern], stdout=subprocess.PIPE,
                              text=True) as worker:
            try:
                lines += (json.loads(l) for l in worker.stdout if l.startswith("{"))
            except KeyboardInterrupt:  # what was recorded so far is kept
                worker.kill()
        if not lines:
            raise SystemExit("%s recorded nothing" % python)
        versions = {l["torch"] for l in lines if "torch" in l}
        assert len(versions) == 1, versions
        version = ".".join(versions.pop().split(".")[:2])
        found[version] = lines
        print("%s: %d lines, %d failed" % (version, len(lines), sum("error" in l for l in lines)), file=sys.stderr)
    for version, lines in found.items():
        write(version, merged(version, lines))


def key(line):
    toggles = {k: v for k, v in line["toggles"].items() if k != "torch"}
    return line["net"], json.dumps(toggles, sort_keys=True)


def path_of(version):
    return os.path.join(FOLDER, "torch-%s.jsonl.gz" % version)


def merged(version, lines):
    """The lines as they are kept: those of nets that were not recorded now stay."""
    new = {key(l) for l in lines}
    if os.path.exists(path_of(version)):
        lines = lines + [l for l in read(version) if key(l) not in new]
    return sorted(lines, key=key)


def read(version):
    """All lines of a version, with their events."""
    with gzip.open(path_of(version), "rt") as f:
        lines = [json.loads(l) for l in f]
    if any("newest" in l for l in lines):
        newest = {key(l): l["events"] for l in read(NEWEST) if "events" in l}
        for line in lines:
            if line.pop("newest", None) is not None:
                line["events"] = newest[key(line)]
    return lines


def tensors_only(events):
    """Without cuBLASLt's workspace, which PyTorch 2.6 makes as a tensor inside addmm: 1 MiB. Ids count the others."""
    out, new = [], {}
    for kind, size, op, ident, *rest in events:
        if kind == "alloc" and not (size == 1 << 20 and op.split("/")[-1] == "addmm"):
            new[ident] = len(new)
        if ident in new:
            out.append([kind, size, op, new[ident], *rest])
    return out


def write(version, lines):
    """Lines that every version refuses in the same way are left out."""
    if version != NEWEST:
        newest = {key(l): l for l in read(NEWEST)}
        lines = [l for l in lines if "events" in l or "events" in newest.get(key(l), {})]
        for line in lines:
            plain_toggles = {k: v for k, v in line["toggles"].items() if k != "torch"}
            other = newest.get(key(line), {}).get("events")
            if version == "2.6" and "events" in line and "target" not in plain_toggles:
                line["events"] = tensors_only(line["events"])
            line["toggles"] = dict(plain_toggles, torch=version)
            if "events" in line and other is not None and difference(line["events"], other) is None:
                del line["events"]
                line["newest"] = plain_toggles
    os.makedirs(FOLDER, exist_ok=True)
    text = "".join(json.dumps(l, sort_keys=True, separators=(",", ":")) + "\n" for l in lines)
    with open(path_of(version), "wb") as f:
        f.write(gzip.compress(text.encode(), 9, mtime=0))


def plain(event):
    """Kind, bytes and which allocation: what memory depends on; not the op's name, which versions write differently."""
    return event[0], event[1], event[3]


def difference(a, b):
    """None, or where two lists of events differ first, in memory alone."""
    a, b = [plain(e) for e in a], [plain(e) for e in b]
    if a == b:
        return None
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def compare(full):
    versions = sorted((n[len("torch-"):-len(".jsonl.gz")] for n in os.listdir(FOLDER) if n.startswith("torch-")),
                      key=lambda v: [int(n) for n in v.split(".")])
    newest = {key(l): l for l in read(NEWEST)}
    for version in versions:
        lines = [(l, newest[key(l)]) for l in read(version) if key(l) in newest]
        both = [(l, n) for l, n in lines if "events" in l and "events" in n]
        differ = [(l, n, at) for l, n in both for at in [difference(l["events"], n["events"])] if at is not None]
        failed = [l for l, n in lines if "error" in l and not l.get("refused")]
        print("%s: %d of %d equal to %s, %d fail" % (version, len(both) - len(differ), len(both), NEWEST, len(failed)))
        for line in failed:
            print("  %s %s: %s" % (line["net"], json.dumps(line["toggles"]), line["error"][:150]))
        for line, new, at in differ:
            a, b = line["events"], new["events"]
            print("  %s %s: %d events instead of %d; the %dth is %s instead of %s" % (
                line["net"], json.dumps(line["toggles"]), len(a), len(b), at, a[at:at + 1], b[at:at + 1]))
            for i in range(max(0, at - 3), at + 8) if full else ():
                print("      %-60s %s" % (a[i:i + 1], b[i:i + 1]))


def main():
    words = sys.argv[1:]
    if words[:1] == ["worker"]:
        worker(*words[1:])
        return
    if words[:1] == ["compare"]:
        compare("--full" in words)
        return
    options = {"--library": "build/vramscope_standin.so", "--only": ""}
    pythons = words[1:] if words[:1] == ["record"] else []
    for name in options:
        if name in pythons:
            at = pythons.index(name)
            options[name] = pythons[at + 1]
            del pythons[at:at + 2]
    if not pythons:
        raise SystemExit(__doc__)
    record(options["--library"], options["--only"], pythons)


if __name__ == "__main__":
    main()
