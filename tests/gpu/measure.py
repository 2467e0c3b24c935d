#!/usr/bin/env python3
"""tests/gpu/measure.py - measures the cases of cases.py under real PyTorch on this machine's GPU.

    python3 tests/gpu/measure.py OUT [--seconds N] [--only REGEX] [--stand-in]

Writes OUT/golden.jsonl: first the machine, then one line a case, in the words of tests/golden/oracle/grid (see
tests/oracle/README.md), with `counters`, what torch.cuda.memory_stats() said at the end of each phase, libraries'
workspaces and kernels' scratch included; and OUT/events.jsonl.gz: every allocation and free of a tensor. After N
seconds (450) no further case is begun. --stand-in: where no GPU is, run on the stand-in of tests/oracle; for testing
this script.
"""
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
sys.path.insert(0, HERE)
import nogpu  # noqa: E402
from cases import CASES, name_of  # noqa: E402

SECONDS = 450
COLUMNS = ("allocated_end", "allocated_peak", "requested_end", "requested_peak", "reserved_end",
           "reserved_peak")
KEPT = ("torch", "parameters", "peak", "saved", "recomputed_ops", "applied", "events", "counters",
        "scratch", "allocator_matches")


def arguments(words):
    options = {"--seconds": SECONDS, "--only": "", "--stand-in": False}
    out = None
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--stand-in":
            options[word] = True
        elif word in options and words:
            options[word] = words.pop(0)
        elif out is None and not word.startswith("--"):
            out = word
        else:
            raise SystemExit(__doc__)
    if out is None:
        raise SystemExit(__doc__)
    return out, float(options["--seconds"]), re.compile(options["--only"]), options["--stand-in"]


def driver():
    """The driver's version, as nvidia-smi or the kernel says it."""
    try:
        said = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=60)
        if said.returncode == 0 and said.stdout.strip():
            return said.stdout.split("\n")[0].strip()
    except (OSError, subprocess.TimeoutExpired):
        pass
    try:
        with open("/proc/driver/nvidia/version") as f:
            return re.search(r"\d+\.\d+[.\d]*", f.read()).group(0)
    except (OSError, AttributeError):
        return None


def machine():
    """Asked in a child: a process that has touched CUDA cannot fork one that uses it."""
    import torch
    torch.cuda.init()
    p = torch.cuda.get_device_properties(0)
    return {"gpu": p.name, "capability": "%d.%d" % (p.major, p.minor), "memory": p.total_memory,
            "multiprocessors": p.multi_processor_count, "driver": driver(),
            "cuda": torch.version.cuda,
            "cudnn": None if nogpu.active() else torch.backends.cudnn.version(),
            "torch": torch.__version__, "python": sys.version.split()[0],
            "stand_in": nogpu.active()}


def net_file(net, define, folder):
    """The path of the net, or of a copy with other values of its variables."""
    path = os.path.join(ROOT, net)
    if not define:
        return path
    with open(path) as f:
        text = f.read()
    for name, value in define.items():
        text, count = re.subn(r"(?m)^%s = .*$" % name, "%s = %s" % (name, value), text)
        if count != 1:
            raise SystemExit("%s: no line `%s = …`" % (net, name))
    path = os.path.join(folder, "_".join([os.path.basename(net)[:-3]] + list(define.values())) + ".py")
    with open(path, "w") as f:
        f.write(text)
    return path


def measure(case, net, define, toggles, folder):
    """The golden line of a case, and its events."""
    line = {"net": net, "define": define, "toggles": toggles}
    report = case.memory(net_file(net, define, folder), toggles)
    if "error" in report:
        return dict(line, **{k: report[k] for k in ("error", "refused") if k in report}), None
    line.update((k, report[k]) for k in KEPT)
    line["phases"] = [[step["step"], p["phase"]] + [p[c] for c in COLUMNS]
                      for step in report["steps"] for p in step["phases"]]
    return line, report["event_list"]


def write_line(f, value):
    f.write(json.dumps(value, separators=(",", ":"), sort_keys=True) + "\n")
    f.flush()


def main():
    out, seconds, only, stand_in = arguments(sys.argv[1:])
    start = time.monotonic()
    if not nogpu.gpu_present() and not stand_in:
        print("skipped: this machine has no NVIDIA GPU (no /dev/nvidia0)")
        return 3
    nogpu.enter()
    os.environ.setdefault("TORCH_SYMBOLIZE_MODE", "dladdr")  # frames need no line numbers
    import case
    case.SECONDS = 240
    case.warm()
    about = case.in_child(machine)
    if "error" in about:
        print("PyTorch cannot use the GPU: " + about["error"], file=sys.stderr)
        return 1
    print("%(gpu)s, driver %(driver)s, CUDA %(cuda)s, cuDNN %(cudnn)s, PyTorch %(torch)s" % about)
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "golden.jsonl"), "w") as golden, \
            gzip.open(os.path.join(out, "events.jsonl.gz"), "wt") as lists, \
            tempfile.TemporaryDirectory() as folder:
        write_line(golden, {"machine": about})
        wanted = [c for c in CASES if only.search(name_of(*c))]
        for done, (net, define, toggles) in enumerate(wanted):
            name = name_of(net, define, toggles)
            if time.monotonic() - start > seconds:
                print("not measured for want of time: %d of %d cases, from %s on"
                      % (len(wanted) - done, len(wanted), name))
                break
            before = time.monotonic()
            line, events = measure(case, net, define, toggles, folder)
            write_line(golden, line)
            if events is not None:
                write_line(lists, {"net": net, "define": define, "toggles": toggles, "events": events})
            print("%-52s %s" % (name, line.get("error") or "peak %d bytes, %d events, %.1f s" % (
                line["peak"]["allocated"], line["events"], time.monotonic() - before)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
