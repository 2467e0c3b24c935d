"""tests/oracle/lang_cases.py - expected output of the language's test programs.

    python3.12 tests/oracle/lang_cases.py

Reads tests/oracle/lang_semantics.txt and lang_lifetimes.txt ("=== name", then the program), runs each program under
CPython and writes tests/golden/lang/cases.txt: each program with what it printed. `_probe(name)` is an object whose
death prints its name.

The order of deaths is that of CPython 3.12, whose compiler puts comprehensions into the frame around them; with another
version this script refuses to write.
"""
import contextlib
import io
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent / "golden" / "lang" / "cases.txt"


class _Probe:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print(self.name)


def cases(path):
    name, lines = None, []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("=== "):
            if name is not None:
                yield name, "\n".join(lines) + "\n"
            name, lines = line[4:], []
        else:
            lines.append(line)
    yield name, "\n".join(lines) + "\n"


def run(name, text):
    out = io.StringIO()
    names = {"__name__": "__main__", "_probe": _Probe}
    with contextlib.redirect_stdout(out):
        exec(compile(text, name, "exec"), names)
        printed = out.getvalue()
        # what is still alive at the end dies silently: its order is that of a dict of names, and no net sees it
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink):
        names.clear()
    return printed


def main():
    if sys.version_info[:2] != (3, 12):
        sys.exit("the order of deaths is CPython 3.12's: run this with python3.12")
    with OUT.open("w", encoding="utf-8") as f:
        for source in ("lang_semantics.txt", "lang_lifetimes.txt"):
            for name, text in cases(HERE / source):
                printed = run(name, text)
                f.write(f"=== {name}\n{text}--- prints\n{printed}")
                if not printed.endswith("\n"):
                    sys.exit(f"{name}: the output must end with a line end")


main()
