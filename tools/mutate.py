#!/usr/bin/env python3
"""tools/mutate.py - changes one operator of a C file at a time, and runs tests that should notice.

For:            the allocator and the codec, whose tests claim to notice everything.
Must not know:  what the files do.
Invariant:      the working tree is not touched: a mutant is compiled in a folder of its own and linked before the
                library that has the original.

    make tests && python3 tools/mutate.py --set codec|alloc [--build build] [--jobs 1] [--only FILE] [--log FILE]

A mutant has one comparison, arithmetic or logical operator changed (< to <=, + to -, && to ||, and so on). It is killed
where it does not compile, a test fails, crashes or takes several times as long, or a sanitizer, with which the mutant
is compiled, finds an access beyond an object. What survives is printed, with its reason where tools/mutants.txt has
one, and else as `unexplained`, which makes the exit status 1. --log has a line for each mutant; those that it has
already are not run again.
"""
import argparse
import collections
import concurrent.futures
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Of a set its files, each with the tests of its own, and the tests of all of them, which come after those.
SETS = {
    "codec": ({"store/codec/encode.c": ["store/codec/test_matches"],
               "store/codec/decode.c": ["store/codec/test_by_hand", "store/codec/test_matches"],
               "store/codec/keys.c": ["store/codec/test_keys", "store/codec/test_matches"]},
              ["store/codec/test_codec", "store/test_trace"]),
    "alloc": ({f"engine/alloc/{name}.c": []
               for name in ("alloc", "block", "cache", "expandable", "pool", "set", "stats")},
              ["engine/alloc/test_alloc", "engine/alloc/test_pools", "engine/alloc/test_leftovers",
               "engine/alloc/test_limits", "engine/alloc/test_settings", "engine/alloc/test_view",
               "engine/alloc/test_driver", "engine/alloc/test_random", "engine/alloc_history/test_replay",
               "engine/alloc_history/test_rerun"]),
}
CHANGES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "/": "*",
           "%": "+", "&&": "||", "||": "&&", "<<": ">>", ">>": "<<", "+=": "-=", "-=": "+="}
OPERATOR = re.compile(r"(?<=[\w)\]'\"]) (" + "|".join(re.escape(op) for op in sorted(CHANGES, key=len, reverse=True)) +
                      r")(?= |$)", re.MULTILINE)
# Comments, texts, lines of the preprocessor, and checks of the compiler: nothing in them is changed.
BLANKED = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|^#(?:[^\n]*\\\n)*[^\n]*$|static_assert\(.*?\);|VS_ASSERT\(.*?\);",
                     re.DOTALL | re.MULTILINE)
SANITIZERS = ["-fsanitize=address,bounds", "-fno-sanitize-recover=all"]

Mutant = collections.namedtuple("Mutant", "file line operator at text")


def mutants_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    code = BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    lines = text.split("\n")
    for match in OPERATOR.finditer(code):
        line = text.count("\n", 0, match.start()) + 1
        yield Mutant(path, line, match.group(1), match.start(1), lines[line - 1].strip())


def name_of(mutant, mutants):
    """Without the line's number, which changes: the line, and which of its operators."""
    same = [m for m in mutants if m.file == mutant.file and m.text == mutant.text and m.operator == mutant.operator]
    return f"{mutant.file}: {mutant.text} [{mutant.operator} {same.index(mutant) + 1}]"


def compile_and_link(folder, text, test, build, libraries):
    """The program of a test with `text` in the place of its file; None: it does not compile."""
    source, compiled, program = (os.path.join(folder, name) for name in ("mutant.c", "mutant.o", "test"))
    if not os.path.exists(compiled):
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-w", *SANITIZERS, "-I.", f"-I{build}/gen"]
        if subprocess.run(["gcc", *flags, "-c", "-o", compiled, source], stderr=subprocess.DEVNULL,
                          check=False).returncode:
            return None
    archives = [f"{build}/{name}.a" for name in ("libhelp", "libcli", "libvramscope")]
    subprocess.run(["gcc", *SANITIZERS, "-Wl,-S", "-o", program, f"{build}/tests/{test}.o", compiled,
                    *archives, *libraries], check=True)
    return program


def test_run(program, folder, seconds):
    """Its exit status, and the processor's seconds that it took."""
    child = subprocess.Popen([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env=dict(os.environ, TMPDIR=folder, CMOCKA_TEST_ABORT="1"),
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds,) * 2))
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_utime + usage.ru_stime


def seconds_of(path, tests, build, libraries):
    """How long each test may take: a multiple of what it takes with the file as it is."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    limits = {}
    with tempfile.TemporaryDirectory(prefix="vramscope-mutant-") as folder:
        for test in tests:
            status, seconds = test_run(compile_and_link(folder, text, test, build, libraries), folder, 600)
            if status:
                sys.exit(f"{test} fails with {path} as it is: exit status {status}")
            limits[test] = 2 + int(3 * seconds)
    return limits


def is_killed(mutant, limits, build, libraries):
    """What killed it; None: nothing. limits: the tests, and how long each may take."""
    with open(mutant.file, encoding="utf-8") as file:
        text = file.read()
    end = mutant.at + len(mutant.operator)
    text = text[:mutant.at] + CHANGES[mutant.operator] + text[end:]
    with tempfile.TemporaryDirectory(prefix="vramscope-mutant-") as folder:
        for test, seconds in limits.items():
            program = compile_and_link(folder, text, test, build, libraries)
            if not program:
                return "compiler"
            status, _ = test_run(program, folder, seconds)
            if status in (-signal.SIGXCPU, -signal.SIGKILL):
                return f"{test}, which did not end"
            if status:
                return test
    return None


def libraries_of(build):
    """What the Makefile links programs with on this machine."""
    said = subprocess.run(["make", "-s", "--no-print-directory", f"B={build}", "print-libs"], stdout=subprocess.PIPE,
                          check=True, text=True)
    return ["-lcmocka", "-pthread", *shlex.split(said.stdout)]


def reasons_read():
    """Lines of tools/mutants.txt: a mutant's name, ` => `, and why nothing notices it."""
    reasons = {}
    with open(os.path.join(HERE, "mutants.txt"), encoding="utf-8") as file:
        for line in file:
            name, found, reason = line.rstrip("\n").partition(" => ")
            if found:
                reasons[name] = reason
    return reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--set", choices=sorted(SETS), required=True)
    parser.add_argument("--build", default="build")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", help="one file of the set")
    parser.add_argument("--log")
    args = parser.parse_args()
    files, tests = SETS[args.set]
    mutants = [mutant for file in files if args.only in (None, file) for mutant in mutants_of(file)]
    names = {mutant: name_of(mutant, mutants) for mutant in mutants}
    reasons = reasons_read()
    results = {}
    if args.log and os.path.exists(args.log):
        with open(args.log, encoding="utf-8") as file:
            results = dict(line.rstrip("\n").split("\t") for line in file)
    todo = [mutant for mutant in mutants if names[mutant] not in results]
    libraries = libraries_of(args.build)
    log = open(args.log, "a", encoding="utf-8") if args.log else None
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        limits = {path: seconds_of(path, files[path] + tests, args.build, libraries)
                  for path in sorted({mutant.file for mutant in todo})}
        killers = pool.map(lambda m: is_killed(m, limits[m.file], args.build, libraries), todo)
        for mutant, by in zip(todo, killers):
            results[names[mutant]] = by or "survived"
            if log:
                print(f"{names[mutant]}\t{by or 'survived'}", file=log, flush=True)
    survivors = [names[mutant] for mutant in mutants if results[names[mutant]] == "survived"]
    unexplained = [name for name in survivors if name not in reasons]
    for name in survivors:
        print(f"survived: {name}: {reasons.get(name, 'unexplained')}")
    print(f"{args.set}: {len(mutants)} mutants, {len(mutants) - len(survivors)} killed, {len(survivors)} survived, "
          f"{len(unexplained)} of them unexplained")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
