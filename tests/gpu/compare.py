#!/usr/bin/env python3
"""tests/gpu/compare.py - compares vramscope with what measure.py wrote, figure by figure and event by event.

    python3 tests/gpu/compare.py OUT VRAMSCOPE

Every case is recorded with `--device meta`; compared are its parameters, six figures at the end of every phase, the
peaks, what autograd saved and the recomputed ops. `vramscope match` compares the events. Prints one line a case and
every difference; writes the same to OUT/differences.txt. Exit status 0: nothing differs, 1: something does. Needs no
GPU and no PyTorch.
"""
import concurrent.futures
import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
from cases import name_of  # noqa: E402

COLUMNS = ("allocated_end", "allocated_peak", "requested_end", "requested_peak", "reserved_end",
           "reserved_peak")


class Case:
    def __init__(self, line):
        self.net = os.path.join(ROOT, line["net"])
        self.name = name_of(line["net"], line["define"], line["toggles"])
        self.options = [w for k, v in line["toggles"].items() for w in ("--" + k, v)]
        self.define = line["define"]
        self.is_amp = line["toggles"].get("amp", "off") != "off"
        self.line = line


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True)


def net_text(case, folder):
    """The net with its variables as the case has them."""
    if not case.define:
        return case.net
    with open(case.net) as f:
        lines = f.read().split("\n")
    for name, value in case.define.items():
        lines = ["%s = %s" % (name, value) if l.startswith(name + " = ") else l for l in lines]
    path = os.path.join(folder, "net.py")
    with open(path, "w") as f:
        f.write("\n".join(lines))
    return path


def figures_of_torch(line):
    yield "parameters", line["parameters"]
    for row in line["phases"]:
        for column, value in zip(COLUMNS, row[2:]):
            yield "step %d %s %s" % (row[0], row[1], column), value
    for k in ("allocated", "requested", "reserved"):
        yield "peak " + k, line["peak"][k]
    for k in ("tensors", "bytes", "bytes_all"):
        yield "saved " + k, line["saved"][k]
    for step, count in enumerate(line["recomputed_ops"]):
        yield "recomputed ops of step %d" % step, count


def figures_of_ours(report):
    yield "parameters", report["parameters"]
    for step in report["steps"]:
        for phase in step["phases"]:
            for column in COLUMNS:
                yield "step %d %s %s" % (step["step"], phase["phase"], column), phase[column]
    for k in ("allocated", "requested", "reserved"):
        yield "peak " + k, report["peak"][k]
    for k in ("tensors", "bytes", "bytes_all"):
        yield "saved " + k, report["saved"][k]
    for step, count in enumerate(report["recomputed_ops"]):
        yield "recomputed ops of step %d" % step, count


def compare_figures(program, case, folder):
    """(equal, compared, differences)"""
    trace = os.path.join(folder, "trace.db")
    said = run(program, "record", net_text(case, folder), "--device", "meta", "-o", trace, "--force",
               *case.options)
    if said.returncode:
        return 0, 1, ["vramscope fails: " + said.stderr.strip()]
    ours = dict(figures_of_ours(json.loads(run(program, "report", trace, "--json").stdout)))
    theirs = dict(figures_of_torch(case.line))
    if not own_step_saves(case, ours):
        theirs = {k: v for k, v in theirs.items() if not k.startswith("saved ")}
    different = ["%s: PyTorch %d, vramscope %s" % (k, v, ours.get(k, "nothing"))
                 for k, v in theirs.items() if ours.get(k) != v]
    return len(theirs) - len(different), len(theirs), different


def own_step_saves(case, ours):
    """What autograd holds after the last loss is not known where the net has a step of its own."""
    with open(case.net) as f:
        return "def train_step(" not in f.read()


def compare_events(program, case, events, folder):
    """(equal, compared, differences)"""
    path = os.path.join(folder, "list.csv")
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["kind", "bytes", "id", "op"])
        w.writerows([kind, size, ident, op] for kind, size, op, ident, step, phase in events)
    words = [w for pair in case.define.items() for w in ("-D", "%s=%s" % pair)]
    said = run(program, "match", case.net, path, "--json", "--events", "tensors", *words,
               *(["--any-free-order"] if case.is_amp else []), *case.options)
    if said.returncode not in (0, 1) or not said.stdout:
        return 0, len(events), ["vramscope match fails: " + said.stderr.strip()]
    answer = json.loads(said.stdout)
    if said.returncode == 0:
        return answer["matched"], answer["events"], []
    text = run(program, "match", case.net, path, "--events", "tensors", *words,
               *(["--any-free-order"] if case.is_amp else []), *case.options)
    return answer["matched"], answer["events"], (text.stdout + text.stderr).strip().split("\n")


def read(out):
    with open(os.path.join(out, "golden.jsonl")) as f:
        lines = [json.loads(l) for l in f]
    with gzip.open(os.path.join(out, "events.jsonl.gz"), "rt") as f:
        lists = [json.loads(l) for l in f]
    by_name = {name_of(l["net"], l["define"], l["toggles"]): l["events"] for l in lists}
    return lines[0]["machine"], lines[1:], by_name


def compare_case(program, case, events):
    """(figures, events) of a case, each (equal, compared, differences)"""
    with tempfile.TemporaryDirectory() as folder:
        return (compare_figures(program, case, folder),
                compare_events(program, case, events, folder))


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    out, program = sys.argv[1], os.path.abspath(sys.argv[2])
    machine, lines, lists = read(out)
    text = ["%(gpu)s, driver %(driver)s, CUDA %(cuda)s, PyTorch %(torch)s" % machine]
    totals, whole, failed = [0, 0, 0, 0], 0, 0
    cases = [Case(line) for line in lines]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for our program
        answers = [None if "error" in c.line else
                   pool.submit(compare_case, program, c, lists[c.name]) for c in cases]
    for case, answer in zip(cases, answers):
        line = case.line
        if "error" in line:
            text.append("%-52s PyTorch: %s" % (case.name, line["error"]))
            failed += 1
            continue
        figures, events = answer.result()
        text.append("%-52s figures %d of %d, events %d of %d" % (
            case.name, figures[0], figures[1], events[0], events[1]))
        text += ["    " + d for d in figures[2] + events[2]]
        totals = [a + b for a, b in zip(totals, figures[:2] + events[:2])]
        whole += not figures[2] and not events[2]
    text.append("equal: %d of %d cases, %d of %d figures, %d of %d events%s" % (
        whole, len(lines), *totals, "; %d failed under PyTorch" % failed if failed else ""))
    print("\n".join(text))
    with open(os.path.join(out, "differences.txt"), "w") as f:
        f.write("\n".join(text) + "\n")
    return 0 if lines and whole == len(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
