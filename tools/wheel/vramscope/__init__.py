"""tools/wheel/vramscope/__init__.py - the package of the wheel: where the program is, and questions about traces
(trace.py)."""
import os
import sysconfig

from vramscope.trace import Alive, Block, Error, Mistake, Peak, Trace, WhatIf

__all__ = ["open", "program", "Alive", "Block", "Error", "Mistake", "Peak", "Trace", "WhatIf"]


def open(path):
    """A trace file: vramscope.open("train.db").peak()."""
    return Trace(path)


def program():
    """The path of the program: beside this Python's own programs, or the user's (`pip install --user`), or where
    `pip install --target` put it. FileNotFoundError: it is in none of them."""
    above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", os.name + "_user"),
               os.path.join(above, "bin")]
    for folder in folders:
        path = os.path.join(folder, "vramscope")
        if os.access(path, os.X_OK):
            return path
    raise FileNotFoundError("vramscope is in none of " + ", ".join(folders))
