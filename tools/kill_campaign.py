#!/usr/bin/env python3
"""tools/kill_campaign.py - kills recordings at random instants, and examines what they leave.

For:            the figure in docs/formats/trace-format.md; a longer run than the tests have time for.
Must not know:  the product's code: it runs the program, and reads traces with Python's own sqlite3.
Invariant:      the same seed gives the same kinds and delays; when exactly a kill falls depends on the machine.

    python3 tools/kill_campaign.py --count 1000 --seed 1 [--program build/vramscope] [--folder /tmp]

Each round starts a recording, waits for a random time, notes how many events the file has, and kills it (-9). Then the
trace must open: `report` succeeds, SQLite's integrity check says ok, and no event that was there before the kill is
gone. A file that is not there yet, or has no table yet, is fine as long as none was seen.
"""
import argparse
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

# What is recorded: a name, the arguments, and how long until the kill at most, in seconds.
KINDS = [
    ("cpu", ["record", "sample_nets/lenet.py", "--device", "cpu", "--steps", "1000000"], 1.5),
    ("meta", ["record", "sample_nets/mlp_swish.py", "--device", "meta", "--steps", "10000000"], 1.5),
    ("keep", ["record", "sample_nets/lenet.py", "--device", "meta", "--steps", "10000000", "--keep", "5k"], 1.5),
    ("index", ["record", "sample_nets/gpt2_small.py", "--device", "meta", "--steps", "12"], 0.8),
    ("replace", ["record", "sample_nets/lenet.py", "--device", "meta", "--steps", "2000"], 0.4),
]


def meta_of(path):
    """The numbers of the trace's table `meta`; None where there is none to be read yet."""
    if not os.path.exists(path):
        return None
    try:
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)
        rows = db.execute("select key, value from meta where key in ('events', 'dropped_events', 'start_events')")
        numbers = {key: int(value) for key, value in rows.fetchall()}
        db.close()
        return numbers
    except sqlite3.Error:
        return None


def events_of(numbers):
    """How many events of the run the trace has or has dropped."""
    if not numbers:
        return 0
    return numbers.get("events", 0) + numbers.get("dropped_events", 0) - numbers.get("start_events", 0)


def examine(program, path, seen):
    """What is wrong with what a kill left; None: nothing."""
    if not os.path.exists(path):
        return "the file is gone" if seen else None
    report = subprocess.run([program, "report", path, "--json"], capture_output=True, text=True, timeout=120)
    if report.returncode != 0:
        return f"report: {report.stderr.strip()}"
    left = events_of(meta_of(path))
    if left < seen:
        return f"{left} events are left of {seen}"
    db = sqlite3.connect(path)
    said = db.execute("pragma integrity_check").fetchall()
    db.close()
    return None if said == [("ok",)] else f"integrity check: {said[:3]}"


def round_run(program, folder, number, rnd, kinds):
    """Kill one recording; returns its kind, whether the kill came before its end, and what is wrong."""
    name, arguments, longest = kinds[rnd.randrange(len(kinds))]
    path = os.path.join(folder, f"{name}-{number}.db")
    if name == "replace":  # there is a trace of this name already
        subprocess.run([program, "record", "sample_nets/mlp_swish.py", "--device", "meta", "-o", path],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=120)
    before = 0
    child = subprocess.Popen([program, *arguments, "-f", "-o", path], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    time.sleep(rnd.random() * longest)
    if name != "replace":
        before = events_of(meta_of(path))
    child.send_signal(signal.SIGKILL)
    was_killed = child.wait(timeout=60) == -signal.SIGKILL
    wrong = examine(program, path, before)
    for file in os.listdir(folder):
        if file.startswith(f"{name}-{number}.db"):
            os.unlink(os.path.join(folder, file))
    return name, was_killed, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default="build/vramscope")
    parser.add_argument("--folder", default=None)
    args = parser.parse_args()
    rnd = random.Random(args.seed)
    folder = tempfile.mkdtemp(prefix="vramscope-kill-", dir=args.folder)
    rounds = {name: [0, 0] for name, _, _ in KINDS}
    failures = 0
    try:
        for number in range(args.count):
            name, was_killed, wrong = round_run(args.program, folder, number, rnd, KINDS)
            rounds[name][0] += 1
            rounds[name][1] += was_killed
            if wrong:
                failures += 1
                print(f"round {number}, {name}: {wrong}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for name, (count, killed) in rounds.items():
        print(f"{name}: {count} rounds, {killed} killed before their end")
    print(f"seed {args.seed}: {args.count} rounds, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
