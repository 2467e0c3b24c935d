"""sample_nets/tools/netwriter/known.py - what the net language has, by PyTorch's names: read from known.txt, which the
tests compare with the language."""
import os

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known.txt")


def _read():
    found = {}
    with open(_FILE) as f:
        for line in f:
            line = line.partition("#")[0].split()
            if line:
                found.setdefault(line[0], set()).update(line[1:])
    return found


NAMES = _read()


def has(kind, name):
    """kind: torch, F, Tensor, attribute or nn."""
    return name in NAMES.get(kind, ())
