"""tests/oracle/events.py - from the allocator's memory history to a list of tensor allocations and frees.

A library's workspace or a kernel's scratch is an allocation no tensor was made for; it is recognized
apart by its C++ frames and left out unless asked for. What remains is what the net itself needs.
"""
import re

TENSOR = re.compile(r"at::detail::empty_|at::native::resize_|resize_bytes_cuda")
OP = re.compile(r"^at::_ops::(\w+)::(call|redispatch)\(")
NODE = re.compile(r"torch::autograd::(?:generated::)?(\w+)::apply\(")
SUM_TO = "torch::autograd::validate_outputs("


def name_of(frames):
    """The op that was running: `Node/op` in backward, `op` elsewhere, "" between ops."""
    op = node = None
    outermost = None
    for frame in frames:  # innermost first
        name = frame["name"]
        found = OP.match(name)
        if found:
            outermost = found.group(1)
            if found.group(2) == "redispatch":
                op = outermost
            continue
        found = NODE.search(name)
        if found:
            node = node or found.group(1)
        elif SUM_TO in name:
            node = node or "validate_outputs"
    op = op or outermost or ""
    return node + "/" + op if node else op


class Event:
    __slots__ = ("kind", "bytes", "op", "id", "scratch", "step", "phase")

    def __init__(self, kind, size, op, ident, scratch):
        self.kind, self.bytes, self.op, self.id, self.scratch = kind, size, op, ident, scratch
        self.step = self.phase = None

    def row(self):
        return [self.kind, self.bytes, self.op, self.id, self.step, self.phase]


def read(trace):
    """Events of one device trace, in order; ids count allocations from 0."""
    events, live, count = [], {}, 0
    for entry in trace:
        action = entry["action"]
        frames = entry.get("frames") or ()
        if action == "alloc":
            scratch = not any(TENSOR.search(f["name"]) for f in frames)
            event = Event("alloc", entry["size"], name_of(frames), count, scratch)
            live[entry["addr"]] = event
            events.append(event)
            count += 1
        elif action == "free_requested":
            made = live.pop(entry["addr"], None)
            if made is not None:
                events.append(Event("free", made.bytes, name_of(frames), made.id, made.scratch))
        elif action == "oom":
            raise RuntimeError("the device ran out of memory")
    return events


def without_scratch(events):
    """Tensors only, ids counted anew."""
    ids = {}
    kept = []
    for e in events:
        if e.scratch:
            continue
        if e.kind == "alloc":
            ids[e.id] = len(ids)
        e.id = ids[e.id]
        kept.append(e)
    return kept


def settle_casts(rows):
    """Sorts runs of frees of autocast's copies in one phase by id: PyTorch walks a table keyed by addresses."""
    made_by = {r[3]: r[2] for r in rows if r[0] == "alloc"}
    out, run = [], []
    for row in rows:
        is_cast = row[0] == "free" and made_by[row[3]].endswith("_to_copy")
        if run and not (is_cast and row[4:] == run[-1][4:]):
            out += sorted(run, key=lambda r: r[3])
            run = []
        (run if is_cast else out).append(row)
    return out + sorted(run, key=lambda r: r[3])
