#!/usr/bin/env python3
"""pickle_cases.py - pickles as CPython writes them, with what they hold.

    python3 tests/oracle/pickle_cases.py > tests/golden/pickle/cases.txt

A line is a pickle in hexadecimal and what tests/store/test_pickle.c must make of it: n, true, false, whole numbers (big
where they do not fit in 64 bits), f and the bits of a float, t and the bytes of a text, [items], (items), {key=value,…}. Random
data of all protocols, with shared and with optimized memos.
"""
import pickle
import pickletools
import random
import struct


def shown(v):
    if v is None:
        return "n"
    if v is True or v is False:
        return str(v).lower()
    if isinstance(v, int):
        return str(v) if -1 << 63 <= v < 1 << 64 else "big"
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
        return "".join(chr(r.choice([0, 9, 10, 26, 39, 92, 127, 200, 0x20ac, 0x1f600, 0xdc80])) for _ in range(r.randrange(6)))
    if kind == 2:
        return "x" * r.choice([254, 255, 256, 257, 5000])
    return r.choice(["name", "size", "addr", "frames", "action", "\\u0041", "'quoted\"", "line\nline"])


def number(r):
    return r.choice([r.randrange(-3, 300), r.randrange(-1 << 17, 1 << 17), r.choice([-1, 1]) * (1 << r.randrange(100)) + r.randrange(-2, 3)])


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
    for proto in range(6):
        v = [{"a%d" % i: i for i in range(n)} for n in (31, 32, 33, 64, 200)]
        print(pickle.dumps(v, proto).hex(), shown(v))


if __name__ == "__main__":
    main()
