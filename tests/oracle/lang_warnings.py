#!/usr/bin/env python3
"""tests/oracle/lang_warnings.py - what PyTorch warns of

Reads tests/oracle/lang_warnings.txt ("=== name", then the program), runs each program under real PyTorch and writes
tests/golden/lang/warnings.txt: each program with what it printed and each warning as "warning LINE: TEXT", once for a
text, with the line of the program that it came from. What PyTorch adds of its own source is cut off.
"""
import builtins
import os
import sys
import traceback
import warnings

import nogpu

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "lang_warnings.txt")
OUT = os.path.join(os.path.dirname(HERE), "golden", "lang", "warnings.txt")


def cases():
    with open(SOURCE) as f:
        for part in f.read().split("=== ")[1:]:
            name, program = part.split("\n", 1)
            yield name, program


def line_of_program():
    lines = [f.lineno for f in traceback.extract_stack() if f.filename == "net.py"]
    return lines[-1] if lines else 0


def run(program):
    said, seen = [], set()

    def show(message, category, filename, lineno, file=None, line=None):
        text = str(message).split(" (Triggered internally")[0].split("\n")[0].strip()
        if text not in seen:
            seen.add(text)
            said.append("warning %d: %s" % (line_of_program() or (lineno if filename == "net.py" else 0), text))

    def say(*values):
        said.append(" ".join(str(v) for v in values))

    warnings.simplefilter("always")
    warnings.showwarning = show
    builtins.print = say
    exec(compile(program, "net.py", "exec"), {"__name__": "__main__"})
    return said


def main():
    nogpu.enter()
    import case
    with open(OUT, "w") as f:
        for name, program in cases():
            said = case.in_child(lambda: run(program))
            if isinstance(said, dict):
                print("%s: %s" % (name, said["error"]), file=sys.stderr)
                continue
            f.write("=== %s\n%s--- says\n%s" % (name, program, "".join(s + "\n" for s in said)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
