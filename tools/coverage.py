#!/usr/bin/env python3
"""tools/coverage.py - which lines and branches the tests ran, folder by folder, from what gcov knows.

For:            `make coverage`.
Must not know:  what the folders do.
Invariant:      a line that is compiled several times (for a library, for another table of kernels) was run where one of
                its objects ran it.

    python3 tools/coverage.py [--build build/coverage] [--gcov gcov] [--below 90] [--missing FOLDER]

Prints a row for each folder: its lines, how many of them ran, its branches, how many of them were taken. Branches of
VS_ASSERT are not counted: they are there not to be taken. Exit status 0 whatever the figures are. --missing lists the
lines of the files of a folder that did not run.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys

LEFT_OUT = re.compile(r"^(/|tests/|tools/|bench/|build/)")
ASSERTION = re.compile(r"^\s*(VS_ASSERT|VS_UNREACHABLE)\b")


def notes_of(build):
    for folder, _, files in os.walk(build):
        if not folder.startswith(os.path.join(build, "tests")):
            yield from (os.path.join(folder, name) for name in files if name.endswith(".gcno"))


def gcov_read(gcov, notes):
    """The files of one object: of each its lines, with how often each ran and its branches were taken."""
    data = notes[:-len(".gcno")] + ".gcda"
    said = subprocess.run([gcov, "--json-format", "--stdout", "--branch-probabilities",
                           data if os.path.exists(data) else notes],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    files = []
    for text in said.decode("utf-8", "replace").splitlines():
        for file in json.loads(text)["files"]:
            name = os.path.normpath(file["file"])
            if not LEFT_OUT.match(name) and os.path.exists(name):
                files.append((name, [(line["line_number"], line["count"], [b["count"] for b in line["branches"]])
                                     for line in file["lines"]]))
    return files


class Source:
    """Of each line how often it ran; of each branch of it how often it was taken."""

    def __init__(self):
        self.lines = collections.Counter()
        self.branches = {}

    def add(self, lines):
        for number, count, branches in lines:
            self.lines[number] += count
            for i, taken in enumerate(branches):
                key = (number, len(branches), i)
                self.branches[key] = self.branches.get(key, 0) + taken

    def figures(self, path):
        with open(path, encoding="utf-8") as file:
            texts = file.read().split("\n")
        counted = {key: n for key, n in self.branches.items() if not ASSERTION.match(texts[key[0] - 1])}
        # an object that has the line with other branches (inlined into others) says nothing more about it
        most = collections.defaultdict(int)
        for number, count, _ in counted:
            most[number] = max(most[number], count)
        counted = {key: n for key, n in counted.items() if key[1] == most[key[0]]}
        return (len(self.lines), sum(n > 0 for n in self.lines.values()), len(counted),
                sum(n > 0 for n in counted.values()))


def missing_print(sources, folder):
    for path in sorted(sources):
        if os.path.dirname(path) != folder:
            continue
        with open(path, encoding="utf-8") as file:
            texts = file.read().split("\n")
        for number, count in sorted(sources[path].lines.items()):
            if not count:
                print(f"{path}:{number}: {texts[number - 1].strip()}")


def percent(part, whole):
    return f"{100 * part / whole:5.1f}" if whole else "    –"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default="build/coverage")
    parser.add_argument("--gcov", default="gcov")
    parser.add_argument("--below", type=float, default=90)
    parser.add_argument("--missing", metavar="FOLDER")
    args = parser.parse_args()
    sources = collections.defaultdict(Source)
    notes = sorted(notes_of(args.build))
    if not notes:
        sys.exit(f"{args.build} has nothing that was compiled with --coverage: run `make coverage`")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for files in pool.map(lambda path: gcov_read(args.gcov, path), notes):
            for name, lines in files:
                sources[name].add(lines)
    if args.missing:
        missing_print(sources, args.missing)
        return
    folders = collections.defaultdict(lambda: [0, 0, 0, 0])
    for path, source in sources.items():
        for i, n in enumerate(source.figures(path)):
            folders[os.path.dirname(path)][i] += n
    total = [sum(figures[i] for figures in folders.values()) for i in range(4)]
    print(f"{'folder':32} {'lines':>7} {'run %':>6} {'branches':>9} {'taken %':>8}")
    for name, (lines, ran, branches, taken) in [*sorted(folders.items()), ("all", total)]:
        print(f"{name:32} {lines:7} {percent(ran, lines):>6} {branches:9} {percent(taken, branches):>8}")
    low = [name for name in sorted(folders) if folders[name][1] * 100 < args.below * folders[name][0]]
    print(f"below {args.below:g} % of the lines: {', '.join(low) if low else 'none'}")


if __name__ == "__main__":
    main()
