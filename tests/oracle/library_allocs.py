#!/usr/bin/env python3
"""library_allocs.py - which allocations of recorded runs no tensor was made for.

    python3 tests/oracle/library_allocs.py SNAPSHOT_DIR > tests/golden/lm4/library.txt

One line a snapshot: its name, the number of its alloc events, the number of alloc and free events that are left when
library workspaces and kernel scratch are left out, and the alloc events (from 0) that are those. They are told by their
C++ frames, which the lists of snapshot_lists.py do not keep. tests/facts/test_lm4.c reads it beside those lists.
"""
import os
import sys

import validate

SNAPSHOTS = ("lm4_train_ctx200", "lm4_train_ctx100", "lm4_forward_ctx100")


def line(folder, name):
    path = os.path.join(folder, name + ".pickle.gz")
    count, library = 0, []
    for entry in validate.load(path)["device_traces"][0]:
        if entry["action"] != "alloc":
            continue
        if validate.LIBRARY.search("\n".join(f["name"] for f in entry["frames"])):
            library.append(count)
        count += 1
    left = len(validate.real_events(path))
    return " ".join(str(x) for x in [name, count, left] + library)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for name in SNAPSHOTS:
        print(line(sys.argv[1], name))


if __name__ == "__main__":
    main()
