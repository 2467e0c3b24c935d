"""tools/wheel/vramscope/trace.py - questions about a trace, answered by the program's JSON as dataclasses.

    import vramscope

    trace = vramscope.open("train.db")
    print(trace.peak().allocated, trace.peak().line)
    trace.alive_at(trace.peak().event).to_pandas()
    trace.whatif(amp="bf16", checkpoint="blocks").peak.allocated

Nothing here runs a recorded program, unless `rerun=True` says so.
"""
import dataclasses
import json
import os
import shutil
import subprocess


class Error(Exception):
    """What the program says: no such file, a toggle that does not exist, and so on."""


def command():
    """The path of the program: $VRAMSCOPE, or that of this package, or the one in PATH."""
    from vramscope import program

    if os.environ.get("VRAMSCOPE"):
        return os.environ["VRAMSCOPE"]
    try:
        return program()
    except FileNotFoundError:
        found = shutil.which("vramscope")
        if found:
            return found
        raise


def json_of(*words):
    """The JSON that a command prints."""
    done = subprocess.run([command(), *map(str, words), "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode:
        text = done.stderr.strip()
        raise Error(text[len("vramscope: "):] if text.startswith("vramscope: ") else text)
    return json.loads(done.stdout)


def taken(cls, found, **more):
    """An object of a dataclass, of the members of JSON that it has fields for."""
    names = {field.name for field in dataclasses.fields(cls)}
    return cls(**{name: value for name, value in dict(found, **more).items() if name in names})


def frame_of(rows):
    """A pandas.DataFrame of dataclasses. ImportError: there is no pandas."""
    import pandas

    return pandas.DataFrame([dataclasses.asdict(row) for row in rows])


@dataclasses.dataclass(frozen=True)
class Peak:
    """The peak of a run, in bytes. event: where it is first reached; line: of the net or program; 0: not known."""

    allocated: int
    reserved: int
    requested: int
    event: int
    step: int
    phase: str
    function: str
    line: int
    op: str
    module: str
    by_category: dict


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of the allocator. bytes: of the block; requested: of the tensor; freed_at: None: not within the trace."""

    block: int
    bytes: int
    requested: int
    category: str
    allocated_at: int
    freed_at: int
    step: int
    phase: str
    module: str
    function: str
    line: int
    op: str


@dataclasses.dataclass(frozen=True)
class Alive:
    """The blocks that are alive right after an event, the largest first."""

    event: int
    allocated: int
    blocks: list

    def to_pandas(self):
        return frame_of(self.blocks)


@dataclasses.dataclass(frozen=True)
class Mistake:
    """A likely mistake of a program, with its lines: ["train.py:12"]."""

    kind: str
    bytes: int
    lines: list
    text: str


@dataclasses.dataclass(frozen=True)
class WhatIf:
    """A run with other toggles. delta: of the peak, in bytes; refused: what could not be applied, or None."""

    set: dict
    peak: Peak
    delta: int
    out_of_memory: bool
    refused: str


BLOCKS = """
WITH became AS (SELECT e.block, e.category, max(e.seq) FROM event e WHERE e.kind = 'category' AND e.seq <= {0}
                GROUP BY e.block)
SELECT b.id AS block, b.block_size AS bytes, b.size AS requested, ifnull(became.category, b.category) AS category,
       b.alloc_seq AS allocated_at, b.free_seq AS freed_at, b.step, b.phase, b.module, b.func AS function, b.line, b.op
FROM block b LEFT JOIN became ON became.block = b.id
WHERE b.alloc_seq <= {0} AND (b.free_seq IS NULL OR b.free_seq > {0}) ORDER BY b.block_size DESC, b.id"""


class Trace:
    """A trace file. Each method runs `vramscope`."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self.events = self.query("SELECT max(seq) AS n FROM event")[0]["n"] or 0

    def report(self, top=10):
        """All that `vramscope report --json` says: docs/formats/json.md."""
        return json_of("report", self.path, "--top", top)

    def peak(self):
        return taken(Peak, self.report(0)["peak"])

    def mistakes(self):
        """Likely mistakes of a recorded program."""
        return [taken(Mistake, found) for found in self.report(0)["mistakes"]]

    def alive_at(self, event=None):
        """What is alive right after an event; without one at the peak."""
        event = self.peak().event if event is None else int(event)
        if not 0 < event <= self.events:
            raise ValueError("event %d is not one of 1 to %d" % (event, self.events))
        blocks = [taken(Block, row) for row in self.query(BLOCKS.format(event))]
        return Alive(event, sum(block.bytes for block in blocks), blocks)

    def whatif(self, rerun=False, **toggles):
        """The run with other toggles: whatif(amp="bf16"); `-` of a name is `_` here. Of a program, rerun=True runs it
        again."""
        pairs = ["%s=%s" % (name.replace("_", "-"), value) for name, value in toggles.items()]
        words = [word for pair in pairs for word in ("--set", pair)]
        found = json_of("whatif", self.path, *words, *(["--rerun"] if rerun else []))
        return WhatIf(found["set"], taken(Peak, found["result"]), found["delta_allocated"], found["out_of_memory"],
                      found["refused"])

    def query(self, sql):
        """The rows of a select statement, a dictionary each: docs/formats/trace-format.md."""
        return json_of("sql", self.path, sql)

    def to_pandas(self, sql="SELECT * FROM block"):
        """The rows of a select statement as a pandas.DataFrame; without one all blocks."""
        import pandas

        return pandas.DataFrame(self.query(sql))

    def __repr__(self):
        return "vramscope.open(%r)" % self.path
