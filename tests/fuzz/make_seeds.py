#!/usr/bin/env python3
"""tests/fuzz/make_seeds.py - small seeds for the fuzzers, cut out of PyTorch's memory snapshots and of the pickle
cases.

    python3 tests/fuzz/make_seeds.py FOLDER_OF_SNAPSHOTS

Of each snapshot the first segments and events with the outermost and innermost frames, in one protocol or another; they
are strangers' files, so the reader here takes data only. Of tests/golden/pickle/cases.txt every fifteenth.
"""
import gzip
import io
import pathlib
import pickle
import sys

SEEDS = pathlib.Path(__file__).parent / "seeds"


class DataOnly(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(module + "." + name)


def cut(entry, frames):
    if isinstance(entry.get("frames"), list):
        key = tuple(map(id, entry["frames"]))
        entry["frames"] = frames.setdefault(key, entry["frames"][:3] + entry["frames"][-3:])
    return entry


def small(snapshot, frames):
    segments = (snapshot if isinstance(snapshot, list) else snapshot["segments"])[:6]
    for segment in segments:
        segment["blocks"] = [cut(block, frames) for block in segment["blocks"][:6]]
        cut(segment, frames)
    if isinstance(snapshot, list):
        return segments
    snapshot["segments"] = segments
    snapshot["device_traces"] = [[cut(e, frames) for e in trace[:25]] for trace in snapshot.get("device_traces", [])]
    if "external_annotations" in snapshot:
        snapshot["external_annotations"] = snapshot["external_annotations"][:6]
    return snapshot


def main():
    (SEEDS / "snapshot").mkdir(parents=True, exist_ok=True)
    for i, path in enumerate(sorted(pathlib.Path(sys.argv[1]).glob("*.pickle.gz"))):
        snapshot = DataOnly(io.BytesIO(gzip.decompress(path.read_bytes()))).load()
        data = pickle.dumps(small(snapshot, {}), 2 + i % 4)
        if 500 < len(data) < 12000:
            (SEEDS / "snapshot" / ("cut_" + path.name[:-3])).write_bytes(data)
    (SEEDS / "pickle").mkdir(exist_ok=True)
    for i, line in enumerate(open("tests/golden/pickle/cases.txt")):
        if i % 15 == 0:
            (SEEDS / "pickle" / ("case%04d" % i)).write_bytes(bytes.fromhex(line.split(" ")[0]))


if __name__ == "__main__":
    main()
