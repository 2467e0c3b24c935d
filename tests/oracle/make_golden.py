#!/usr/bin/env python3
"""Writes tests/golden/oracle/ from real PyTorch.

    python3 tests/oracle/make_golden.py ops|ops_amp|grid|events|numbers ... [--only REGEX]

One JSON object a line, sorted, each with the net file, the toggles given and the torch version.
With --only the lines of matching nets are replaced, the others kept.
"""
import gzip
import json
import os
import re
import sys

import nogpu

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
ROOT = os.path.dirname(TESTS)
GOLDEN = os.path.join(TESTS, "golden", "oracle")


def nets(folder):
    path = os.path.join(ROOT, folder)
    return [folder + "/" + n for n in sorted(os.listdir(path)) if n.endswith(".py")]


def progress(text):
    print(text, file=sys.stderr, flush=True)


def failed(report):
    return {k: report[k] for k in ("error", "refused") if k in report}


# ---- one op a net: every event ----


def op_line(case, net, given):
    report = case.memory(os.path.join(ROOT, net), dict(given, steps="1"))
    line = {"op": os.path.basename(net)[:-3], "net": net, "toggles": given}
    if "error" in report:
        progress("%s %s: %s" % (net, given, report["error"]))
        return dict(line, **failed(report))
    line["torch"] = report["torch"]
    line["saved"] = report["saved"]
    line["events"] = [[kind, size, op, ident, phase]
                      for kind, size, op, ident, step, phase in report["event_list"]]
    return line


def make_ops(case, only):
    write("ops.jsonl", [op_line(case, n, {}) for n in nets("tests/nets/ops") if only(n)], only)


def make_ops_amp(case, only):
    lines = []
    for net in nets("tests/nets/ops"):
        if only(net):
            for given in ({"amp": "fp16"}, {"amp": "bf16"}, {"half": "on"}):
                lines.append(op_line(case, net, given))
    write("ops_amp.jsonl.gz", lines, only)


# ---- files ----


def write(name, lines, only):
    os.makedirs(GOLDEN, exist_ok=True)
    path = os.path.join(GOLDEN, name)
    if os.path.exists(path):
        lines = lines + [l for l in read(path) if not only(l["net"])]
    lines.sort(key=lambda l: (l["net"], json.dumps(l["toggles"], sort_keys=True)))
    text = "".join(json.dumps(l, separators=(",", ":"), sort_keys=True) + "\n" for l in lines)
    if name.endswith(".gz"):
        with open(path, "wb") as f:
            f.write(gzip.compress(text.encode(), 9, mtime=0))
    else:
        with open(path, "w") as f:
            f.write(text)
    bad = [l for l in lines if "error" in l and not l.get("refused")]
    progress("%s: %d lines, %d failed, %d bytes" % (name, len(lines), len(bad),
                                                    os.path.getsize(path)))


def read(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as f:
        return [json.loads(l) for l in f]


def main():
    words = sys.argv[1:]
    pattern = re.compile("")
    if "--only" in words:
        at = words.index("--only")
        pattern = re.compile(words[at + 1])
        del words[at:at + 2]
    makers = {n[5:]: f for n, f in globals().items() if n.startswith("make_")}
    if not words or any(w not in makers for w in words):
        raise SystemExit(__doc__)
    nogpu.enter()
    import case
    case.warm()
    for word in words:
        makers[word](case, lambda net: pattern.search(net) is not None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
