"""tests/oracle/events.py - from the allocator's memory history to a list of tensor allocations and frees.

A library's workspace or a kernel's scratch is an allocation no tensor was made for; it is recognized
apart by its C++ frames and left out unless asked for. What remains is what the net itself needs.
"""
import functools
import re

TENSOR = re.compile(r"at::detail::empty_|at::native::resize_|resize_bytes_cuda")
OP = re.compile(r"^at::_ops::(\w+)::(call|redispatch)\(")
NODE = re.compile(r"torch::autograd::(?:generated::)?(\w+)::apply\(")
SUM_TO = "torch::autograd::validate_outputs("


@functools.lru_cache(maxsize=None)
def meaning(name):
    """What a frame of this name is: (the op, is it a redispatch, the node), and does it make a tensor."""
    makes_tensor = TENSOR.search(name) is not None
    found = OP.match(name)
    if found:
        return found.group(1), found.group(2) == "redispatch", None, makes_tensor
    found = NODE.search(name)
    if found:
        return None, False, found.group(1), makes_tensor
    return None, False, "validate_outputs" if SUM_TO in name else None, makes_tensor


def name_of(frames):
    """The op that was running: `Node/op` in backward, `op` elsewhere, "" between ops."""
    op = node = None
    outermost = None
    for frame in frames:  # innermost first
        called, again, of_node, makes_tensor = meaning(frame["name"])
        outermost = called or outermost
        if again:
            op = called
        node = node or of_node
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
            scratch = not any(meaning(f["name"])[3] for f in frames)
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
