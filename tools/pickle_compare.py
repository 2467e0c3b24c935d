#!/usr/bin/env python3
"""tools/pickle_compare.py - reads random valid pickles with recording/pickle.c and with CPython, and compares.

For:            a longer run than the tests have time for.
Must not know:  the product's code, but for tools/pickle_dump.c, which prints what it reads.
Invariant:      the same seed gives the same pickles.

    python3 tools/pickle_compare.py --count 1000000 --seed 1 [--from 0] [--jobs 2] [--build build]

Half of the pickles are those of pickle.dumps, of every protocol, some optimized by pickletools; half are written here,
opcode by opcode, with all the ways there are to write a value: protocol 0's lines, frames, marks, every kind of memo,
values that are popped again. pickletools.genops must read each of them, and CPython's unpickler must give the value it
was made from. --from goes on where an earlier run ended.
"""
import argparse
import concurrent.futures
import io
import os
import pickle
import pickletools
import random
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = 2000
LETTERS = "abcxyz_.:/0189 \t\n\\'\"äßΩ\u20ac\u2028\U0001f600\x00\x7f"


def text_of(rnd):
    kind = rnd.randrange(12)
    if kind == 0:
        return "".join(rnd.choice(LETTERS) for _ in range(rnd.choice([255, 256, 257, 700])))
    if kind < 4:
        return rnd.choice(["", "frames", "addr", "size", "action", "filename", "line", "a", "b"])
    return "".join(rnd.choice(LETTERS) for _ in range(rnd.randrange(12)))


def int_of(rnd):
    bits = rnd.choice([1, 7, 8, 9, 15, 16, 17, 27, 28, 29, 31, 32, 33, 47, 62, 63, 64, 65, 100, 126])
    n = rnd.choice([rnd.getrandbits(bits), (1 << bits) - 1, 1 << bits])
    return n if rnd.random() < 0.6 else -n


def float_of(rnd):
    if rnd.random() < 0.3:
        return rnd.choice([0.0, -0.0, 1.5, 1e308, 5e-324, float("inf"), float("-inf"), 0.1])
    x = struct.unpack(">d", rnd.getrandbits(64).to_bytes(8, "big"))[0]
    return x if x == x else 2.5  # NaN is not equal to itself


def value_of(rnd, depth):
    kind = rnd.randrange(11 if depth else 7)
    if kind == 0:
        return rnd.choice([None, True, False])
    if kind in (1, 2):
        return int_of(rnd)
    if kind == 3:
        return float_of(rnd)
    if kind == 4:
        return bytes(rnd.getrandbits(8) for _ in range(rnd.choice([0, 3, 255, 256])))
    if kind < 7:
        return text_of(rnd)
    count = rnd.choice([0, 1, 2, 3, 4, 9])
    items = [value_of(rnd, depth - 1) for _ in range(count)]
    if items and rnd.random() < 0.3:
        items.append(items[0])  # the same object twice
    if kind == 7:
        return tuple(items)
    if kind == 8:
        return items
    return {text_of(rnd): item for item in items}


def canonical(value, out):
    """The value as pickle_dump prints it."""
    if value is None:
        out.append("n")
    elif value is True:
        out.append("t")
    elif value is False:
        out.append("f")
    elif isinstance(value, int):
        out.append(f"i{value % 2**64};" if -(2**63) <= value < 2**64 else "i?;")
    elif isinstance(value, float):
        out.append(f"d{struct.pack('>d', value).hex()};")
    elif isinstance(value, str):
        out.append(f"s{value.encode('utf-8', 'surrogatepass').hex()};")
    elif isinstance(value, bytes):
        out.append(f"s{value.hex()};")
    elif isinstance(value, dict):
        out.append("{")
        for key, item in sorted((key.encode("utf-8", "surrogatepass"), item) for key, item in value.items()):
            out.append(f"s{key.hex()};")
            canonical(item, out)
        out.append("}")
    else:
        out.append("[" if isinstance(value, list) else "(")
        for item in value:
            canonical(item, out)
        out.append("]" if isinstance(value, list) else ")")


class Writer:
    """Writes a pickle opcode by opcode."""

    def __init__(self, rnd):
        self.rnd = rnd
        self.out = io.BytesIO()
        self.memo = {}  # of an object: its number
        self.kept = []  # so that no two objects have one id
        self.numbers = 0

    def put(self, value):
        """Perhaps keep the object on the top of the stack in the memo."""
        if self.rnd.random() < 0.5:
            return
        kind = self.rnd.randrange(4)
        number = self.numbers
        if kind == 0:
            self.out.write(b"p%d\n" % number)
        elif kind == 1 and number < 256:
            self.out.write(b"q" + bytes([number]))
        elif kind == 2:
            self.out.write(b"r" + struct.pack("<I", number))
        else:
            self.out.write(b"\x94")
        self.numbers += 1
        self.memo[id(value)] = number
        self.kept.append(value)

    def get(self, number):
        kind = self.rnd.randrange(3)
        if kind == 0:
            self.out.write(b"g%d\n" % number)
        elif kind == 1 and number < 256:
            self.out.write(b"h" + bytes([number]))
        else:
            self.out.write(b"j" + struct.pack("<I", number))

    def int(self, n):
        ways = [b"I%d\n" % n, b"L%dL\n" % n]
        if 0 <= n < 256:
            ways.append(b"K" + bytes([n]))
        if 0 <= n < 65536:
            ways.append(b"M" + struct.pack("<H", n))
        if -(2**31) <= n < 2**31:
            ways.append(b"J" + struct.pack("<i", n))
        data = pickle.encode_long(n)
        ways.append(b"\x8a" + bytes([len(data)]) + data)
        ways.append(b"\x8b" + struct.pack("<i", len(data)) + data)
        self.out.write(self.rnd.choice(ways))

    def text(self, value):
        data = value.encode("utf-8", "surrogatepass")
        ways = [b"X" + struct.pack("<I", len(data)) + data, b"\x8d" + struct.pack("<Q", len(data)) + data]
        if len(data) < 256:
            ways.append(b"\x8c" + bytes([len(data)]) + data)
        escaped = value.replace("\\", "\\u005c").replace("\0", "\\u0000").replace("\n", "\\u000a")
        escaped = escaped.replace("\r", "\\u000d").replace("\x1a", "\\u001a")
        ways.append(b"V" + escaped.encode("raw-unicode-escape") + b"\n")
        self.out.write(self.rnd.choice(ways))

    def bytes(self, data):
        ways = [b"B" + struct.pack("<I", len(data)) + data, b"\x8e" + struct.pack("<Q", len(data)) + data]
        if len(data) < 256:
            ways.append(b"C" + bytes([len(data)]) + data)
        self.out.write(self.rnd.choice(ways))

    def tuple(self, items):
        if not items and self.rnd.random() < 0.6:
            self.out.write(b")")
        elif 1 <= len(items) <= 3 and self.rnd.random() < 0.6:
            for item in items:
                self.value(item)
            self.out.write(bytes([0x84 + len(items)]))
        else:
            self.out.write(b"(")
            for item in items:
                self.value(item)
            self.out.write(b"t")

    def list(self, value):
        items = list(value)
        if self.rnd.random() < 0.3:
            self.out.write(b"(")
            for item in items:
                self.value(item)
            self.out.write(b"l")
            return
        self.out.write(b"]")
        while items:
            count = self.rnd.randrange(1, len(items) + 1)
            if count == 1 and self.rnd.random() < 0.5:
                self.value(items[0])
                self.out.write(b"a")
            else:
                self.out.write(b"(")
                for item in items[:count]:
                    self.value(item)
                self.out.write(b"e")
            del items[:count]

    def dict(self, value):
        pairs = list(value.items())
        if self.rnd.random() < 0.3:
            self.out.write(b"(")
            for key, item in pairs:
                self.value(key)
                self.value(item)
            self.out.write(b"d")
            return
        self.out.write(b"}")
        if pairs and self.rnd.random() < 0.2:  # a value that a later one replaces
            self.value(pairs[-1][0])
            self.value(self.rnd.randrange(100))
            self.out.write(b"s")
        while pairs:
            count = self.rnd.randrange(1, len(pairs) + 1)
            if count == 1 and self.rnd.random() < 0.5:
                self.value(pairs[0][0])
                self.value(pairs[0][1])
                self.out.write(b"s")
            else:
                self.out.write(b"(")
                for key, item in pairs[:count]:
                    self.value(key)
                    self.value(item)
                self.out.write(b"u")
            del pairs[:count]

    def junk(self):
        """Something that is popped again."""
        kind = self.rnd.randrange(3)
        if kind == 0:
            self.out.write(b"K\x070")
        elif kind == 1:
            self.out.write(b"(K\x01N]1")
        else:
            self.out.write(b"N20" + b"0")

    def value(self, value):
        if self.rnd.random() < 0.03:
            self.junk()
        if id(value) in self.memo:
            self.get(self.memo[id(value)])
            return
        if value is None:
            self.out.write(b"N")
        elif value is True or value is False:
            self.out.write(self.rnd.choice([(b"\x88", b"I01\n"), (b"\x89", b"I00\n")][value is False]))
        elif isinstance(value, int):
            self.int(value)
        elif isinstance(value, float):
            self.out.write(self.rnd.choice([b"G" + struct.pack(">d", value), b"F" + repr(value).encode() + b"\n"]))
        elif isinstance(value, str):
            self.text(value)
            self.put(value)
        elif isinstance(value, bytes):
            self.bytes(value)
            self.put(value)
        elif isinstance(value, tuple):
            self.tuple(value)
        elif isinstance(value, list):
            self.list(value)
            self.put(value)
        else:
            self.dict(value)
            self.put(value)

    def pickle(self, value):
        self.value(value)
        body = self.out.getvalue() + b"."
        if self.rnd.random() < 0.3:
            body = b"\x95" + struct.pack("<Q", len(body)) + body
        return (b"\x80" + bytes([self.rnd.choice([2, 3, 4, 5])]) if self.rnd.random() < 0.8 else b"") + body


def pickle_of(rnd):
    """A value and a pickle of it."""
    value = value_of(rnd, rnd.randrange(1, 5))
    if rnd.random() < 0.5:
        data = pickle.dumps(value, rnd.randrange(3, 6))
        return value, pickletools.optimize(data) if rnd.random() < 0.2 else data
    return value, Writer(rnd).pickle(value)


def batch_run(program, seed, first, count):
    """Compare pickles first … first + count - 1; returns what differs, and how many opcodes they have."""
    expected = []
    wrong = []
    data = io.BytesIO()
    opcodes = set()
    for number in range(first, first + count):
        rnd = random.Random(f"{seed}:{number}")
        value, bytes_ = pickle_of(rnd)
        opcodes.update(op.code for op, _, _ in pickletools.genops(bytes_))
        out = []
        canonical(value, out)
        read = []
        canonical(pickle.loads(bytes_), read)
        if out != read:
            raise AssertionError(f"pickle {number} of seed {seed} is not of its value: {bytes_!r}")
        expected.append("".join(out))
        data.write(struct.pack("<I", len(bytes_)) + bytes_)
    lines = subprocess.run([program], input=data.getvalue(), stdout=subprocess.PIPE, check=True).stdout.split(b"\n")
    for i, (line, out) in enumerate(zip(lines, expected, strict=False)):
        if line.decode("utf-8", "replace") != out:
            wrong.append((first + i, line[:200], out[:200]))
    if len(lines) != count + 1:
        wrong.append((first, b"%d lines" % len(lines), ""))
    return wrong, opcodes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--from", type=int, default=0, dest="first", help="the number of the first pickle")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--build", default="build", help="the folder that has libvramscope.a")
    args = parser.parse_args()
    wrong = []
    opcodes = set()
    with tempfile.TemporaryDirectory(prefix="vramscope-pickle-") as folder:
        program = os.path.join(folder, "pickle_dump")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-I.", "-o", program, os.path.join(HERE, "pickle_dump.c"),
                        os.path.join(args.build, "libvramscope.a"), "-lm"], check=True)
        firsts = range(args.first, args.first + args.count, BATCH)
        end = args.first + args.count
        with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
            results = pool.map(batch_run, *zip(*[(program, args.seed, n, min(BATCH, end - n)) for n in firsts]))
            for first, (differ, ops) in zip(firsts, results):
                wrong += differ
                opcodes |= ops
                for number, got, should in differ[:5]:
                    print(f"pickle {number}: {got.decode('utf-8', 'replace')}; but should: {should}", flush=True)
                if (first + BATCH) % 100000 == 0:
                    print(f"{first + BATCH} pickles, {len(wrong)} differ", flush=True)
    print(f"seed {args.seed}: {args.count} pickles from {args.first}, {len(opcodes)} opcodes, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
