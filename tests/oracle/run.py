#!/usr/bin/env python3
"""tests/oracle/run.py - runs one net file under real PyTorch and prints its figures as one JSON object.

    python3 tests/oracle/run.py NET.py [--setting cuda|cpu] [--batch N --TOGGLE VALUE ...]
                                [--events] [--scratch] [--json OUT | --csv OUT]

--csv OUT writes the allocations and frees as the list that `vramscope match NET OUT` takes.

Without a GPU the CUDA build of PyTorch runs on a stand-in of the CUDA libraries (see README.md).
"""
import csv
import json
import sys

import nogpu


def arguments(words):
    options = {"setting": "cuda", "events": False, "scratch": False, "json": "-", "csv": None}
    given, net = {}, None
    words = list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("--"):
            if net is not None:
                raise SystemExit("one net file, not two: %s and %s" % (net, word))
            net = word
        elif word in ("--events", "--scratch"):
            options[word[2:]] = True
        elif not words:
            raise SystemExit(word + " needs a value")
        elif word in ("--setting", "--json", "--csv"):
            options[word[2:]] = words.pop(0)
        else:
            given[word[2:]] = words.pop(0)
    if net is None:
        raise SystemExit(__doc__)
    return net, given, options


def write_csv(report, out):
    with open(out, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["kind", "bytes", "id", "op", "step", "phase"])
        for kind, size, op, ident, step, phase in report["event_list"]:
            w.writerow([kind, size, ident, op, step, phase])


def main():
    net, given, options = arguments(sys.argv[1:])
    nogpu.enter()
    import case
    if options["setting"] == "cpu":
        import numbers_cpu
        report = case.in_child(lambda: numbers_cpu.run(net, given))
    else:
        report = case.memory(net, given, options["scratch"])
        if options["csv"] and "error" not in report:
            write_csv(report, options["csv"])
            return 0
        if not options["events"]:
            report.pop("event_list", None)
    text = json.dumps(report)
    if options["json"] == "-":
        print(text)
    else:
        with open(options["json"], "w") as f:
            f.write(text + "\n")
    return 1 if "error" in report else 0


if __name__ == "__main__":
    sys.exit(main())
