"""tests/oracle/viz.py - reads an exported snapshot as PyTorch's own tools do, and compares what they say with
`vramscope report --json`.

    python viz.py MEMORY_VIZ SNAPSHOT REPORT

MEMORY_VIZ is torch/cuda/_memory_viz.py of an installed PyTorch; it is loaded as a file, so PyTorch itself need not be
importable. Every function that its command line offers is run; flame graphs are left as the lines they are drawn from.
Figures are compared where they print some.
"""

import contextlib
import importlib.util
import io
import json
import pickle
import pickletools
import re
import sys

# What the reader in PyTorch's web page (torch/utils/viz/MemoryViz.js) knows; anything else ends it.
VIEWER_OPCODES = set(
    "APPENDS BINGET BININT BININT1 BININT2 EMPTY_DICT EMPTY_LIST FRAME LONG1 LONG_BINGET MARK MEMOIZE PROTO SETITEMS "
    "SHORT_BINUNICODE STOP TUPLE2 APPEND NEWFALSE BINPUT BINUNICODE EMPTY_TUPLE NEWTRUE NONE BINFLOAT TUPLE TUPLE1 "
    "TUPLE3 LONG_BINPUT LIST DICT SETITEM".split()
)


def load(path):
    spec = importlib.util.spec_from_file_location("memory_viz", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folded_total(lines):
    """Bytes in all, and that every line is "stack count"."""
    total = 0
    for line in lines.splitlines():
        stack, count = line.rsplit(" ", 1)
        assert stack and int(count) >= 0, line
        total += int(count)
    return total


def viewer_peak(snapshot, device):
    """The highest point of the page's timeline: requested bytes, what was there before the first event at the
    bottom."""
    open_at, now, before = {}, [0], 0
    for e in snapshot["device_traces"][device]:
        if e["action"] == "alloc":
            open_at[e["addr"]] = e["size"]
            now.append(now[-1] + e["size"])
        elif e["action"] == "free_completed":
            if e["addr"] not in open_at:
                before += e["size"]
            open_at.pop(e["addr"], None)
            now.append(now[-1] - e["size"])
    for s in snapshot["segments"]:
        for b in s["blocks"]:
            if s["device"] == device and b["state"] == "active_allocated" and b["address"] not in open_at:
                before += b["requested_size"]
    return before + max(now)


def main(viz_path, snapshot_path, report_path):
    viz = load(viz_path)
    with open(snapshot_path, "rb") as f:
        data = f.read()
    strange = {op.name for op, _, _ in pickletools.genops(data)} - VIEWER_OPCODES
    assert not strange, strange
    snapshot = pickle.loads(data)
    with open(report_path) as f:
        device = json.load(f)["devices"][0]
    active = [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]
    assert sum(b["size"] for b in active) == device["allocated"], "allocated"
    assert sum(s["total_size"] for s in snapshot["segments"]) == device["reserved"], "reserved"
    for s in snapshot["segments"]:
        assert sum(b["size"] for b in s["blocks"]) == s["total_size"], "blocks do not tile their segment"

    events = snapshot["device_traces"][device["device"]]
    categories = {e["category"] for e in events if "category" in e}
    assert not categories or "unknown" in categories, "the page fails without"
    if not any(e["action"] == "free_completed" and e["stream"] for e in events):
        assert viewer_peak(snapshot, device["device"]) == device["peak_requested"], "peak"

    text = viz.segsum(snapshot)
    assert f"segments: {len(snapshot['segments'])}\n" in text
    assert f"total_reserved: {viz.Bytes(device['reserved'])}\n" in text
    text = viz.trace(snapshot)
    assert not events or f"{len(events)} entries\n" in text
    assert not re.search(r"\bNone\b", text)

    keep = lambda lines: lines
    assert folded_total(viz.memory(snapshot, keep)) == device["reserved"]
    assert folded_total(viz.segments(snapshot, keep)) == device["reserved"]
    with contextlib.redirect_stdout(io.StringIO()):
        assert viz.compare(snapshot["segments"], snapshot["segments"], keep) == ""
        assert folded_total(viz.compare([], snapshot["segments"], keep)) == device["reserved"]
    for page in (viz.trace_plot(snapshot), viz.trace_plot(snapshot, plot_segments=True), viz.segment_plot(snapshot)):
        assert "snapshot.pickle" in page
    left = viz.filter_alloc_free_pairs(snapshot)["device_traces"][device["device"]]
    alive = sum(1 for e in left if e["action"] == "alloc")
    print(f"{snapshot_path}: {len(events)} events, {len(active)} live blocks, {alive} of them recorded: as PyTorch's "
          f"tools say")


main(*sys.argv[1:])
