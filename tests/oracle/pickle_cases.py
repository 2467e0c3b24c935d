#!/usr/bin/env python3
"""tests/oracle/pickle_cases.py - pickles as CPython writes them, with what they hold.

    python3 tests/oracle/pickle_cases.py > tests/golden/pickle/cases.txt
    python3 tests/oracle/pickle_cases.py opcodes > tests/golden/pickle/opcodes.txt

A line is a pickle in hexadecimal and what tests/recording/test_pickle.c must make of it: n, true, false, whole numbers
(as 64 bits with a sign; big where they do not fit), f and the bits of a float, t and the bytes of a text, [items],
(items), {key=value,…}. Random data of all protocols, with shared and with optimized memos; then pickles that no pickler
writes, opcode by opcode.
"""
import pickle
import pickletools
import random
import struct
import sys


def shown(v):
    if v is None:
        return "n"
    if v is True or v is False:
        return str(v).lower()
    if isinstance(v, int):
        # as 64 bits with a sign
        return "big" if not -1 << 63 <= v < 1 << 64 else str(v - (v >> 63 << 64) if v > 0 else v)
    if isinstance(v, float):
        return "f%016x" % struct.unpack(">Q", struct.pack(">d", v))[0]
    if isinstance(v, str):
        return "t" + v.encode("utf-8", "surrogatepass").hex()
    if isinstance(v, (bytes, bytearray)):
        return "t" + bytes(v).hex()
    if isinstance(v, dict):
        return "{" + ",".join(shown(k) + "=" + shown(x) for k, x in v.items()) + "}"
    opening, closing = ("(", ")") if isinstance(v, tuple) else ("[", "]")
    return opening + ",".join(map(shown, v)) + closing


def text(r):
    kind = r.randrange(6)
    if kind == 0:
        return ""
    if kind == 1:
        codes = [0, 9, 10, 26, 39, 92, 127, 200, 0x20ac, 0x1f600, 0xdc80]
        return "".join(chr(r.choice(codes)) for _ in range(r.randrange(6)))
    if kind == 2:
        return "x" * r.choice([254, 255, 256, 257, 5000])
    return r.choice(["name", "size", "addr", "frames", "action", "\\u0041", "'quoted\"", "line\nline"])


def number(r):
    return r.choice([r.randrange(-3, 300), r.randrange(-1 << 17, 1 << 17),
                     r.choice([-1, 1]) * (1 << r.randrange(100)) + r.randrange(-2, 3)])


def value(r, proto, depth, pool):
    if pool and r.random() < 0.2:
        return r.choice(pool)
    kind = r.randrange(12 if depth else 6)
    if kind < 2:
        return number(r)
    if kind == 2:
        return r.choice([None, True, False])
    if kind == 3:
        return r.choice([0.0, -0.0, 1.5, 1e300, float("inf"), r.random()])
    if kind == 4 and proto >= 3 and r.random() < 0.3:
        return bytes(r.randrange(256) for _ in range(r.randrange(5)))
    if kind == 5 and proto >= 5 and r.random() < 0.3:
        return bytearray(b"abc")
    if kind < 6:
        return text(r)
    count = r.choice([0, 1, 2, 3, 4, 5, 40, 1001, 2500] if depth == 3 else [0, 1, 2, 3, 4, 7])
    small = 1 if count > 10 else depth
    if kind < 8:
        made = [value(r, proto, small - 1, pool) for _ in range(count)]
    elif kind == 8:
        made = tuple(value(r, proto, small - 1, pool) for _ in range(count))
    elif kind == 9 and proto >= 4 and r.random() < 0.2:
        made = {number(r) for _ in range(count)}
    else:
        made = {text(r) + str(i % 90): value(r, proto, small - 1, pool) for i in range(count)}
    if len(pool) < 30:
        pool.append(made)
    return made


class Stream:
    """A pickle as no pickler would write it: every opcode that creates data, each value in any of its forms, with
    values pushed and popped in between."""

    def __init__(self, r):
        self.r = r
        self.out = bytearray()
        self.memo = {}  # number: kind
        self.overwrites = r.random() < 0.2

    def op(self, code, operand=b""):
        if self.r.random() < 0.02:
            self.out += b"\x95" + struct.pack("<Q", self.r.randrange(2))
        self.out += code + operand

    def whole(self):
        if self.r.random() < 0.8:
            self.op(b"\x80", bytes([self.r.randrange(6)]))
        if self.r.random() < 0.4:
            self.snapshot()
        else:
            self.value(self.r.randrange(1, 4))
        return bytes(self.out) + b"."

    def value(self, depth):
        """Push one value; its kind."""
        r = self.r
        if r.random() < 0.06:
            self.noise()
        numbers = [n for n, kind in self.memo.items()]
        if numbers and r.random() < 0.2:
            return self.get(r.choice(numbers))
        kind = r.choice(["int", "int", "text", "text", "float", "plain", "bytes"] +
                        (["list", "tuple", "dict", "dict", "set"] * 2 if depth else []))
        getattr(self, kind)(*([depth] if kind in ("list", "tuple", "dict") else []))
        if kind != "list" and kind != "dict":  # those have been, before they were filled
            self.put(kind)
        if r.random() < 0.05:
            self.op(b"2")
            self.op(b"0")
        return kind

    def noise(self):
        if self.r.random() < 0.5:
            self.int()
            self.op(b"0")
        else:
            self.op(b"(")
            self.text()
            self.int()
            self.op(b"1")

    def put(self, kind):
        r = self.r
        if r.random() < 0.5:
            return
        # ours refuses numbers above the length
        free = [n for n in range(min(300, len(self.out))) if n not in self.memo]
        if not free:
            return
        used = [n for n in self.memo if n > 3]
        if used and self.overwrites and r.random() < 0.3:
            n = r.choice(used)
        else:
            n = r.choice([free[0], free[0], r.choice(free)])
        form = r.randrange(4)
        if form == 0 and len(self.memo) not in self.memo:  # else it would be another one's number
            n = len(self.memo)
            self.op(b"\x94")
        elif form <= 1 and n < 256:
            self.op(b"q", bytes([n]))
        elif form == 2:
            self.op(b"p", b"%d\n" % n)
        else:
            self.op(b"r", struct.pack("<I", n))
        self.memo[n] = kind

    def get(self, n):
        form = self.r.randrange(3)
        if form == 0 and n < 256:
            self.op(b"h", bytes([n]))
        elif form == 1:
            self.op(b"g", b"%d\n" % n)
        else:
            self.op(b"j", struct.pack("<I", n))
        return self.memo[n]

    def int(self):
        n = number(self.r)
        forms = ["INT", "LONG", "LONG1", "LONG4"]
        if 0 <= n < 256:
            forms.append("BININT1")
        if 0 <= n < 65536:
            forms.append("BININT2")
        if -1 << 31 <= n < 1 << 31:
            forms += ["BININT"] * 3
        form = self.r.choice(forms)
        size = (n.bit_length() + 8) // 8 if n else 0
        size = min(16, size + self.r.choice([0, 0, 1]))
        if form == "INT":
            self.op(b"I", b"%d\n" % n)
        elif form == "LONG":
            self.op(b"L", b"%d%s\n" % (n, self.r.choice([b"", b"L"])))
        elif form == "LONG1":
            self.op(b"\x8a", bytes([size]) + n.to_bytes(size, "little", signed=True))
        elif form == "LONG4":
            self.op(b"\x8b", struct.pack("<I", size) + n.to_bytes(size, "little", signed=True))
        else:
            self.op(*{"BININT1": lambda: (b"K", bytes([n])), "BININT2": lambda: (b"M", struct.pack("<H", n)),
                      "BININT": lambda: (b"J", struct.pack("<i", n))}[form]())

    def float(self):
        v = self.r.choice([0.0, -1.5, 1e300, 0.1, float("inf"), self.r.random()])
        if self.r.random() < 0.5:
            self.op(b"G", struct.pack(">d", v))
        else:
            self.op(b"F", repr(v).encode() + b"\n")

    def plain(self):
        self.op(self.r.choice([b"N", b"\x88", b"\x89", b"I00\n", b"I01\n", b")", b"]", b"}"]))

    def bytes(self):
        v = bytes(self.r.randrange(256) for _ in range(self.r.randrange(9)))
        code, size = self.r.choice([(b"C", "<B"), (b"B", "<I"), (b"\x8e", "<Q"), (b"\x96", "<Q")])
        self.op(code, struct.pack(size, len(v)) + v)

    def text(self, v=None):
        v = text(self.r) if v is None else v
        if self.r.random() < 0.25 and v.isascii() and v.isprintable() and not set(v) & set("\\'\""):
            if self.r.random() < 0.4:
                self.op(b"S", b"'%s'\n" % v.encode())
            elif len(v) < 256 and self.r.random() < 0.5:
                self.op(b"U", bytes([len(v)]) + v.encode())
            else:
                self.op(b"T", struct.pack("<i", len(v)) + v.encode())
            return
        data = v.encode("utf-8", "surrogatepass")
        if self.r.random() < 0.15:
            line = v.replace("\\", "\\u005c").replace("\0", "\\u0000").replace("\n", "\\u000a")
            line = line.replace("\r", "\\u000d").replace("\x1a", "\\u001a")
            self.op(b"V", line.encode("raw-unicode-escape") + b"\n")
            return
        code, size = self.r.choice([(b"\x8c", "<B")] * 3 * (len(data) < 256) + [(b"X", "<I"), (b"\x8d", "<Q")])
        self.op(code, struct.pack(size, len(data)) + data)

    def fill(self, count, one, single, many):
        while count:
            some = min(count, self.r.randrange(1, 7))
            count -= some
            if some == 1 and self.r.random() < 0.7:
                one()
                self.op(single)
                continue
            self.op(b"(")
            for _ in range(some):
                one()
            self.op(many)

    def list(self, depth):
        count = self.r.choice([0, 1, 2, 3, 8])
        if self.r.random() < 0.3:
            self.op(b"(")
            for _ in range(count):
                self.value(depth - 1)
            self.op(b"l")
            return
        self.op(b"]")
        self.fill(count, lambda: self.value(depth - 1), b"a", b"e")
        self.put("list")

    def tuple(self, depth):
        count = self.r.choice([0, 1, 2, 2, 3, 5])
        is_marked = not 1 <= count <= 3 or self.r.random() < 0.3
        if is_marked:
            self.op(b"(")
        for _ in range(count):
            self.int() if self.r.random() < 0.5 else self.value(depth - 1)
        self.op(b"t" if is_marked else bytes([0x84 + count]))

    def dict(self, depth):
        keys = iter("k%d" % i for i in range(100))

        def pair():
            self.text(next(keys))
            self.put("text")
            self.value(depth - 1)

        count = self.r.choice([0, 1, 2, 3, 6])
        if self.r.random() < 0.2:
            self.op(b"(")
            for _ in range(count):
                pair()
            self.op(b"d")
            return
        self.op(b"}")
        self.fill(count, pair, b"s", b"u")
        self.put("dict")

    def set(self):
        """Of one item at most: nobody knows the order of more."""
        count = self.r.randrange(2)
        if self.r.random() < 0.5:
            self.op(b"\x8f(")
        else:
            self.op(b"(")
        is_frozen = self.out[-2:] != b"\x8f("
        for _ in range(count):
            self.int()
        self.op(b"\x91" if is_frozen else b"\x90")

    def snapshot(self):
        """What PyTorch dumps, in small: dicts with the same keys, stacks that refer to the same frames; one of them
        changed afterwards."""
        r = self.r
        for n, key in enumerate(("name", "line", "addr", "frames")):
            self.op(b"\x8c", bytes([len(key)]) + key.encode())
            self.op(b"q", bytes([n]))
            self.memo[n] = "text"
        frames = range(4, 4 + r.randrange(5, 9))
        for n in frames:
            self.op(b"}")
            self.op(b"q", bytes([n]))
            self.op(b"(h\0")
            self.text()
            self.op(b"h\1")
            self.int()
            self.op(b"u")
            self.memo[n] = "dict"
        stacks = [[r.choice(frames) for _ in range(r.randrange(3, 9))] for _ in range(3)]
        self.op(b"(")
        for n in range(40, 40 + r.randrange(4, 12)):
            self.op(b"}(")
            self.op(b"h\2")
            if r.random() < 0.2:
                self.noise()
            r.choice([self.int, self.int, self.plain, self.text, lambda: self.tuple(1), lambda: self.value(2)])()
            self.op(b"h\3")
            self.op(b"]")
            self.op(b"q", bytes([n]))
            self.op(b"(")
            for frame in r.choice(stacks):
                self.op(b"h", bytes([frame]))
            self.op(b"e")
            if r.random() < 0.1:
                self.op(b"h", bytes([r.choice(frames)]))
                self.op(b"a")
            self.op(b"u")
            if r.random() < 0.2:  # a pair more, in what has been closed
                self.op(b"h\0")
                self.int()
                self.op(b"s")
            lists = [i for i in range(40, n) if self.memo[i] == "list"]
            self.memo[n] = "list"
            if lists and r.random() < 0.3:
                self.op(b"h", bytes([r.choice(lists)]))
                self.op(b"h\4a0")
        if self.overwrites:
            self.int()
            self.op(b"q", bytes([r.choice(frames)]))
        self.op(b"t")


def opcodes():
    """What there is: code, name, and whether it makes data."""
    refused = ("PERSID BINPERSID REDUCE BUILD GLOBAL INST OBJ NEWOBJ EXT1 EXT2 EXT4 NEWOBJ_EX STACK_GLOBAL "
               "NEXT_BUFFER READONLY_BUFFER").split()
    for op in pickletools.opcodes:
        print("%02x %s %s" % (ord(op.code), op.name, "refused" if op.name in refused else "data"))


def main():
    r = random.Random(1)
    for i in range(480):
        proto = i % 6
        v = value(r, proto, 1 + i // 6 % 3, [])
        data = pickle.dumps(v, proto)
        if i % 5 == 0:
            data = pickletools.optimize(data)
        if len(data) < 1500:
            print(data.hex(), shown(v))
    for i in range(2500):
        data = Stream(random.Random(i)).whole()
        what = shown(pickle.loads(data))
        if 12 < len(data) and len(data) + len(what) < 1500:
            print(data.hex(), what)
    for proto in range(6):
        v = [{"a%d" % i: i for i in range(n)} for n in (31, 32, 33, 64, 200)]
        print(pickle.dumps(v, proto).hex(), shown(v))


if __name__ == "__main__":
    opcodes() if sys.argv[1:] == ["opcodes"] else main()
