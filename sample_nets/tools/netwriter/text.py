"""sample_nets/tools/netwriter/text.py - pieces of the text of a net file: literals, holes for numbers that may become
parameters of a class, long lines."""
import math
import re

import torch

WIDTH = 100
_HOLE = re.compile("\ue000(\\d+)\ue001")


class Inexpressible(Exception):
    """A value that has no literal; the text says what it is."""


class Optional:
    """An argument that is left out where it has its default."""

    def __init__(self, name, default):
        self.name = name
        self.default = default


class Holes:
    """The numbers of one module's text, each in a place of its own: what two modules of a class may differ in."""

    def __init__(self):
        self.found = []  # (label, value, Optional or None)

    def add(self, label, value, optional=None):
        self.found.append((label, value, optional))
        return "\ue000%d\ue001" % (len(self.found) - 1)


def fill(text, words):
    """`text` with the k-th hole replaced by words[k]; None leaves an optional argument out."""
    out = _HOLE.sub(lambda m: words[int(m.group(1))], text)
    return out.replace("(, ", "(")


def literal(value):
    if isinstance(value, float):
        if math.isinf(value) or math.isnan(value):
            return 'float("%s")' % value
        return repr(value)
    if isinstance(value, (bool, str, type(None))) or value is Ellipsis:
        return repr(value).replace("Ellipsis", "...") if not isinstance(value, str) else '"%s"' % value
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, tuple):
        return "(%s%s)" % (", ".join(literal(v) for v in value), "," if len(value) == 1 else "")
    if isinstance(value, list):
        return "[%s]" % ", ".join(literal(v) for v in value)
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (literal(k), literal(v)) for k, v in value.items())
    if isinstance(value, torch.dtype):
        return str(value)
    raise Inexpressible("a %s has no spelling in the net language" % type(value).__name__)


def _break_at(line, width):
    """The last place before `width` where the line may be broken inside brackets, after a comma or space; or -1."""
    depth, quoted, best = 0, "", -1
    for at, c in enumerate(line[:width]):
        if quoted:
            quoted = "" if c == quoted else quoted
        elif c in "\"'":
            quoted = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == " " and depth > 0 and line[:at].strip():
            best = at
    return best


def _wrap(line):
    """The lines of one statement; its comment stays at the first one's end, or goes before it."""
    code, mark, comment = line.partition("  # ")
    indent = code[:len(code) - len(code.lstrip())]
    if len(code) + (len(comment) + 4 if mark else 0) <= WIDTH:
        return [line]
    out = [indent + "# " + comment] if mark else []
    while len(code) > WIDTH:
        at = _break_at(code, WIDTH)
        if at < 0:
            break
        out.append(code[:at])
        code = indent + "    " * 2 + code[at + 1:]
        if len(out) > 400:
            break
    return out + [code]


def wrapped(lines):
    return [part for line in lines for part in (_wrap(line) if line.strip() else [""])]
