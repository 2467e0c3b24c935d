#!/usr/bin/env python3
"""tests/oracle/snapshot_lists.py - PyTorch CUDA memory snapshots as compact lists for the allocator's tests.

    python3 tests/oracle/snapshot_lists.py OUTDIR SNAPSHOT.pickle[.gz]...

Writes one text file per snapshot and device that has segments or events: OUTDIR/<name>.<device>.txt. What
recording/memlist_compact.c reads is described here; sizes, addresses and streams are kept, and of the stacks only whose
an allocation is.

    vramscope allocator list 1
    conf TEXT                   allocator settings in force ("conf" alone: none recorded)
    state SEGMENTS BLOCKS       the state at the end of the trace follows
    S ADDRESS SIZE STREAM POOL  one segment: POOL is s(mall) or l(arge), then e for expandable, then private pool ids if
                                not 0:0
    i SIZE / a SIZE REQUESTED / p SIZE REQUESTED
                                its blocks in address order: inactive, allocated, pending free
    events COUNT                the trace follows, oldest first; COUNT as in the snapshot
    t STREAM                    the events after it are on this stream (0 at first)
    a DELTA REQUESTED [CLASS]   alloc; DELTA from the address of the alloc before it (from 0 at first). CLASS: w
                                workspace of a library, r scratch of a split reduction, s scratch of sorting and
                                scanning, x of anything else; none: a tensor's, or nobody knows (the recording has no
                                C++ stacks)
    f BACK                      free_requested and, directly after it, free_completed, of the alloc BACK allocs ago (1:
                                the last)
    r BACK / c BACK             one of the two alone
    F, R, C ADDRESS REQUESTED   the same for a block that was allocated before the trace began
    +, -, m, u ADDRESS SIZE     segment_alloc, segment_free, segment_map, segment_unmap
    o DEVICE_FREE SIZE          oom; both in bytes
    n SIZE                      a snapshot was taken; active bytes

ADDRESS and STREAM are hexadecimal; ADDRESS, DELTA and SIZE (unless bytes are said) count 512 bytes; REQUESTED is in
bytes. The files come from strangers, so the unpickler refuses every class and every call.
"""
import gzip
import io
import os
import pickle
import re
import sys

UNIT = 512
# Every tensor's memory is made in one of these.
TENSOR = re.compile(r"at::detail::empty_|at::native::resize_|resize_bytes_cuda")
CPP = re.compile(r"^(at|c10|torch)::")
CLASSES = (("r", re.compile(r"gpu_reduce_kernel")),
           ("s", re.compile(r"radix_sort|cub::|thrust::|cuda_cub")),
           ("w",
            re.compile(r"getNewWorkspace|CublasHandlePool|getCurrentCUDABlasHandle|[cC]ublas|gemm|[cC]udnn|addmm")))


class DataOnly(pickle.Unpickler):
    """Dicts, lists, tuples, strings and numbers; nothing that could name or call anything."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused: {module}.{name}")

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("refused: persistent id")


def load(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    top = DataOnly(io.BytesIO(data)).load()
    return {"segments": top} if isinstance(top, list) else top


def units(n):
    if n % UNIT:
        raise ValueError(f"{n} is not a multiple of {UNIT}")
    return n // UNIT


def unsigned(n):
    return n & (1 << 64) - 1


STATES = {"inactive": "i", "active_allocated": "a", "active_pending_free": "p", "active_awaiting_free": "p"}


def requested_of(block):
    if "requested_size" in block:
        return block["requested_size"]
    history = block.get("history")
    return history[0]["real_size"] if history else block["size"]


def state_lines(segments):
    yield f"state {len(segments)} {sum(len(s['blocks']) for s in segments)}"
    for seg in sorted(segments, key=lambda s: unsigned(s["address"])):
        pool = seg["segment_type"][0] + ("e" if seg.get("is_expandable") else "")
        ids = tuple(seg.get("segment_pool_id") or (0, 0))
        if ids != (0, 0):
            pool += f" {ids[0]}:{ids[1]}"
        yield f"S {units(unsigned(seg['address'])):x} {units(seg['total_size'])} {unsigned(seg['stream']):x} {pool}"
        for block in seg["blocks"]:
            kind = STATES[block["state"]]
            yield f"{kind} {units(block['size'])}" + ("" if kind == "i" else f" {requested_of(block)}")


SEGMENT_ACTIONS = {"segment_alloc": "+", "segment_free": "-", "segment_map": "m", "segment_unmap": "u"}


def class_of(event):
    """Whose an allocation is, as " CLASS", or "" for a tensor's."""
    names = [f["name"] for f in event.get("frames") or ()]
    if not any(CPP.search(n) for n in names) or any(TENSOR.search(n) for n in names):
        return ""
    for letter, pattern in CLASSES:
        if any(pattern.search(n) for n in names):
            return " " + letter
    return " x"


class Writer:
    """Event lines; `live` has the number of the alloc event behind each address in use."""

    def __init__(self):
        self.allocs = 0
        self.live = {}
        self.last_addr = 0
        self.stream = 0

    def free(self, letter, event, is_over):
        addr = unsigned(event["addr"])
        number = self.live.get(addr)
        if is_over:
            self.live.pop(addr, None)
        if number is None:
            return f"{letter.upper()} {units(addr):x} {event['size']}"
        return f"{letter} {self.allocs - number}"

    def lines(self, trace):
        i = 0
        while i < len(trace):
            event = trace[i]
            action = event["action"]
            i += 1
            if action == "snapshot":
                yield f"n {event['size']}"
                continue
            if unsigned(event["stream"]) != self.stream:
                self.stream = unsigned(event["stream"])
                yield f"t {self.stream:x}"
            if action == "oom":
                yield f"o {event['device_free']} {event['size']}"
            elif action in SEGMENT_ACTIONS:
                yield f"{SEGMENT_ACTIONS[action]} {units(unsigned(event['addr'])):x} {units(event['size'])}"
            elif action == "alloc":
                addr = unsigned(event["addr"])
                yield f"a {units(addr) - units(self.last_addr)} {event['size']}{class_of(event)}"
                self.last_addr = addr
                self.live[addr] = self.allocs
                self.allocs += 1
            elif action == "free_requested":
                after = trace[i] if i < len(trace) else {}
                if after.get("action") == "free_completed" and after["addr"] == event["addr"]:
                    i += 1
                    yield self.free("f", event, True)
                else:
                    yield self.free("r", event, False)
            elif action == "free_completed":
                yield self.free("c", event, True)
            else:
                raise ValueError(f"unknown action {action}")


def write_list(path, conf, segments, trace):
    with open(path, "w", encoding="ascii") as out:
        out.write("vramscope allocator list 1\n")
        out.write(f"conf {conf}".rstrip() + "\n")
        for line in state_lines(segments):
            out.write(line + "\n")
        out.write(f"events {len(trace)}\n")
        for line in Writer().lines(trace):
            out.write(line + "\n")


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: snapshot_lists.py OUTDIR SNAPSHOT...")
    outdir = sys.argv[1]
    for path in sys.argv[2:]:
        top = load(path)
        name = os.path.basename(path).split(".pickle")[0]
        conf = (top.get("allocator_settings") or {}).get("PYTORCH_CUDA_ALLOC_CONF") or ""
        traces = top.get("device_traces") or []
        devices = {s["device"] for s in top["segments"]} | {d for d, t in enumerate(traces) if t}
        for device in sorted(devices) or [0]:
            segments = [s for s in top["segments"] if s["device"] == device]
            trace = traces[device] if device < len(traces) else []
            write_list(os.path.join(outdir, f"{name}.{device}.txt"), conf, segments, trace)


if __name__ == "__main__":
    main()
