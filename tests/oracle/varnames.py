#!/usr/bin/env python3
"""tests/oracle/varnames.py - the slots that CPython 3.12 gives to the variables of every code of a source, in the text
of tests/lang/dump.h.

    python3.12 tests/oracle/varnames.py FILE... > tests/golden/lang/varnames.txt

One line a code, the module first, then in the order in which the compiler makes them:
    qualname: co_varnames | co_cellvars | co_freevars
The C test (tests/lang/syntax/test_resolve.c) compares.
"""
import inspect
import sys
import types


def names(code):
    """co_varnames and co_cellvars are in the order of slots already. Locals only of functions, see
    tests/lang/dump.h."""
    is_function = code.co_flags & inspect.CO_OPTIMIZED
    local = code.co_varnames if is_function else ()
    return " ".join([code.co_qualname + ":", *local, "|", *code.co_cellvars, "|", *code.co_freevars])


def codes(code):
    """A code and those inside it. Constants come in the order in which they are first needed."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


def dump(source):
    return "".join(names(code) + "\n" for code in codes(compile(source, "source", "exec")))


if __name__ == "__main__":
    assert sys.version_info[:2] == (3, 12), "the order of slots is that of 3.12"
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            print("== " + path.rsplit("/", 1)[-1])
            print(dump(file.read()), end="")
