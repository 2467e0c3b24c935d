#!/usr/bin/env python3
"""tools/kill_campaign.py - kills the program at random instants, and examines what it leaves.

For:            the figure in docs/formats/trace-format.md; a longer run than the tests have time for.
Must not know:  the product's code: it runs the program, and reads traces with Python's own sqlite3.
Invariant:      the same seed gives the same kinds and instants; how many calls a run makes depends on the machine.

    python3 tools/kill_campaign.py --count 1000 --seed 1 [--from 0] [--jobs 1] [--program build/vramscope]
        [--old TRACE] [--python PYTHON] [--only KIND] [--folder DIR]

An instant is one of the calls that change a file: a write, a flush, the deletion of a journal, a rename. The library
of tools/kill_at.c counts them and kills (-9) before the n-th, after it, or in the middle of a write; it also makes the
recorder's clock fast, so that a short run has as many commits as a long one. After each commit it copies the file. What
a kill leaves must open: `report` succeeds, SQLite's integrity check says ok, and it has no fewer events than the last
copy. With --old, that trace is upgraded, too, by the first program that opens it (tests/store/old/old_trace.c makes
one); with --python, scripts are recorded over a simulated GPU. --only: rounds of one kind,
such as program.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = """import time, torch
for _ in range(20):
    x = [torch.ones(1 << 20, device='cuda') for _ in range(8)]
    del x
    time.sleep(0.02)
"""


def record(net, device, steps, *more):
    return ["record", net, "--device", device, "--steps", str(steps), *more, "-f", "-o", "{trace}"]


# A name, how often it is chosen, its arguments, and whether a trace of an earlier run is there.
Kind = collections.namedtuple("Kind", "name weight arguments earlier")
KINDS = [
    Kind("cpu", 3, record("sample_nets/lenet.py", "cpu", 8, "--batch", "8"), None),
    Kind("meta", 4, record("sample_nets/lenet.py", "meta", 60), None),
    Kind("keep", 4, record("sample_nets/lenet.py", "meta", 40, "--keep", "5k"), None),
    Kind("index", 1, record("sample_nets/gpt2_small.py", "meta", 4), None),
    Kind("replace", 3, record("sample_nets/lenet.py", "meta", 20), "new"),
    Kind("import", 3, ["import", "{snapshot}", "-f", "-o", "{trace}"], None),
]
MIGRATE = Kind("migrate", 2, ["report", "{trace}"], "old")
PROGRAM = Kind("program", 1, ["record", "--gpu", "h100", "-f", "-o", "{trace}", "--", "{python}", "{script}"], None)


class Campaign:
    """What all rounds share: files that are made once, and how many calls a run of each kind makes."""

    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.library = os.path.join(folder, "kill_at.so")
        self.kinds = KINDS + ([MIGRATE] if args.old else []) + ([PROGRAM] if args.python else [])
        self.kinds = [kind for kind in self.kinds if args.only in (None, kind.name)]
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", self.library,
                        os.path.join(HERE, "kill_at.c")], check=True)
        self.files = {name: os.path.join(folder, file) for name, file in
                      [("new", "new.db"), ("snapshot", "snapshot.pickle"), ("script", "script.py")]}
        self.files.update(python=args.python, old=args.old)
        with open(self.files["script"], "w", encoding="ascii") as file:
            file.write(SCRIPT)
        self.earlier_make()
        self.calls = {kind.name: self.calls_of(kind) for kind in self.kinds}

    def run(self, *arguments):
        subprocess.run([self.args.program, *arguments], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=600)

    def earlier_make(self):
        self.run("record", "sample_nets/lenet.py", "--device", "meta", "--steps", "4", "-o", self.files["new"])
        self.run("export", self.files["new"], "--format", "snapshot", "-o", self.files["snapshot"])

    def command(self, kind, trace):
        return [self.args.program, *(word.format(trace=trace, **self.files) for word in kind.arguments)]

    def round_start(self, kind, trace):
        if kind.earlier:
            shutil.copy(self.files[kind.earlier], trace)

    def environment(self, kind, trace, **more):
        clock = "1" if kind is PROGRAM else "1000"  # Python sleeps by the clock
        return dict(os.environ, LD_PRELOAD=self.library, KILL_TRACE=trace, KILL_CLOCK=clock,
                    VRAMSCOPE_SAVE_EVERY="0.02", **more)

    def calls_of(self, kind):
        """How many calls a run makes; of a program the process that makes most."""
        trace = os.path.join(self.folder, f"{kind.name}-counted.db")
        count = os.path.join(self.folder, f"{kind.name}.count")
        self.round_start(kind, trace)
        subprocess.run(self.command(kind, trace), env=self.environment(kind, trace, KILL_COUNT=count), check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
        with open(count, encoding="ascii") as file:
            return max(int(line) for line in file)


def events_of(path):
    """How many events of the run the trace has or has dropped; 0 where there is no trace to be read."""
    if not os.path.exists(path):
        return 0
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
        rows = dict(db.execute("select key, value from meta where key in ('events', 'dropped_events', 'start_events')"))
        db.close()
    except sqlite3.Error:
        return 0
    return int(rows.get("events", 0)) + int(rows.get("dropped_events", 0)) - int(rows.get("start_events", 0))


def examine(program, trace, kind, seen):
    """What is wrong with what a kill left of `seen` committed events; None: nothing."""
    if not os.path.exists(trace):
        return "the file is gone" if seen or kind.earlier else None
    report = subprocess.run([program, "report", trace, "--json"], capture_output=True, text=True, timeout=600)
    if report.returncode != 0:
        return f"report: {report.stderr.strip()}"
    left = events_of(trace)
    if left < seen:
        return f"{left} events are left of {seen}"
    db = sqlite3.connect(trace)
    said = db.execute("pragma integrity_check").fetchall()
    db.close()
    return None if said == [("ok",)] else f"integrity check: {said[:3]}"


def round_run(campaign, number):
    """Kill one run; returns its kind, whether it left anything, whether the kill came before its end, the events
    committed, what is wrong."""
    rnd = random.Random(f"{campaign.args.seed}:{number}")
    kind = rnd.choices(campaign.kinds, [kind.weight for kind in campaign.kinds])[0]
    folder = tempfile.mkdtemp(prefix=f"{kind.name}-{number}-", dir=campaign.folder)
    trace = os.path.join(folder, "trace.db")
    environment = campaign.environment(kind, trace, KILL_AT=str(rnd.randint(1, campaign.calls[kind.name])),
                                       KILL_PART=str(rnd.randrange(1 << 16)))
    try:
        campaign.round_start(kind, trace)
        child = subprocess.run(campaign.command(kind, trace), env=environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, timeout=600, check=False)
        seen = events_of(trace + ".committed")
        is_left = os.path.exists(trace) or len(glob.glob(trace + ".*.pickle")) > 0
        wrong = examine(campaign.args.program, trace, kind, seen)
    finally:
        if os.path.isdir(folder):
            shutil.rmtree(folder, ignore_errors=True)
    return kind.name, is_left, child.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), seen, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--from", type=int, default=0, dest="first", help="the number of the first round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--program", default="build/vramscope")
    parser.add_argument("--old", help="a trace of an earlier version of the format")
    parser.add_argument("--python", help="a Python with PyTorch's CUDA build")
    parser.add_argument("--only", help="the name of a kind of rounds")
    parser.add_argument("--folder", default=None)
    args = parser.parse_args()
    args.program = os.path.abspath(args.program)
    folder = tempfile.mkdtemp(prefix="vramscope-kill-", dir=args.folder and os.path.abspath(args.folder))
    rounds = collections.Counter()
    killed = collections.Counter()
    compared = collections.Counter()
    left = collections.Counter()
    failures = 0
    try:
        campaign = Campaign(args, folder)
        print("calls of a run: " + ", ".join(f"{name} {calls}" for name, calls in campaign.calls.items()), flush=True)
        numbers = range(args.first, args.first + args.count)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            results = pool.map(lambda n: round_run(campaign, n), numbers)
            for number, (name, is_left, was_killed, seen, wrong) in zip(numbers, results):
                rounds[name] += 1
                compared[name] += seen > 0
                killed[name] += was_killed
                left[name] += is_left
                if wrong:
                    failures += 1
                    print(f"round {number}, {name}: {wrong}", flush=True)
                if (number + 1) % 250 == 0:
                    print(f"{number + 1} rounds, {failures} failures", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for name in sorted(rounds):
        print(f"{name}: {rounds[name]} rounds, {killed[name]} killed before their end, "
              f"{compared[name]} with events that were committed, {left[name]} left a trace or a snapshot")
    print(f"seed {args.seed}: {args.count} rounds from {args.first}, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
