"""sample_nets/tools/netwriter/frames.py - what the running frames show: the name that a result is bound to, and the
line that called for it."""
import dis
import os
import sys

import torch

_TORCH = os.path.dirname(torch.__file__) + os.sep
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Python between the model's code and the op: never the model's code itself.
_BETWEEN = tuple(_TORCH + p for p in (
    "overrides.py", "_tensor.py", "functional.py", "_jit_internal.py", "_VF.py", "_ops.py",
    "nn" + os.sep + "functional.py", "nn" + os.sep + "modules" + os.sep + "module.py",
    "nn" + os.sep + "modules" + os.sep + "container.py",
    "utils" + os.sep + "_contextlib.py", "autograd" + os.sep + "grad_mode.py"))
_after = {}  # code object: {offset of an instruction: names its result goes to}


def caller():
    """The innermost frame of the model's own code."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_HERE) and file not in _BETWEEN:
            return frame
        frame = frame.f_back
    return None


def _stored(instruction):
    """Names that one instruction stores to; None if it stores nothing."""
    op = instruction.opname
    if not op.startswith("STORE_") or op in ("STORE_SUBSCR", "STORE_SLICE", "STORE_ATTR"):
        return None
    names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
    if op == "STORE_FAST_LOAD_FAST":
        names = names[:1]
    return [n for n in names if isinstance(n, str)]


def _targets(rest):
    """Names that the value on top of the stack goes to: [] none, ["x"], or one for each part."""
    rest = [i for i in rest if i.opname not in ("EXTENDED_ARG", "CACHE", "NOP", "RESUME")]
    if not rest:
        return []
    if rest[0].opname == "UNPACK_SEQUENCE":
        names, want, at = [], rest[0].argval, 1
        while len(names) < want and at < len(rest):
            stored = _stored(rest[at])
            if stored is None:
                return []
            names += stored
            at += 1
        return names if len(names) == want else []
    stored = _stored(rest[0])
    return stored[:1] if stored else []


def _index(code):
    found = _after.get(code)
    if found is None:
        all_of_it = list(dis.get_instructions(code))
        found = {i.offset: _targets(all_of_it[at + 1:at + 14]) for at, i in enumerate(all_of_it)}
        _after[code] = found
    return found


def target_names(frame):
    """Names that the result of the instruction now running in `frame` goes to."""
    if frame is None:
        return []
    index = _index(frame.f_code)
    at = frame.f_lasti
    while at > 0 and at not in index:
        at -= 2  # inside the instruction's cache
    return [n for n in index.get(at, []) if n.isidentifier()]


def where(frame):
    """(file, line) of what runs in `frame`."""
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else None
