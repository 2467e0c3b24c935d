"""tests/programs/observed/blocks.py VRAMSCOPE PYTHON FOLDER - records programs that have blocks of at least 1 MiB at
their peak, runs each again to it, and counts the blocks of which something is not known.

Traces go into FOLDER; those that are there are taken as they are. A line for each program, the reasons, and the sum.
"""
import collections
import json
import os
import subprocess
import sys

SIZE = 1 << 20
COLUMNS = "blocks", "shape", "dtype", "module", "line", "holder", "reason"
PROGRAMS = [
    "conv_amp", "lm_lstm", "selective_checkpoint", "prefetch", "save_on_cpu", "out_of_memory", "unet3d", "experts",
    "toggles/autoencoder", "toggles/convnet", "toggles/encoder", "toggles/gan", "toggles/mlp", "toggles/recurrent",
    "toggles/regression", "toggles/schedule", "toggles/siamese", "toggles/unet"
]
OF_RANKS = ["two_ranks", "ranks ddp", "fsdp1", "fsdp2", "tensor_parallel", "pipeline"]


def blocks_of(command, is_of_ranks, vramscope, python, folder):
    name, *words = command.split()
    trace = os.path.join(folder, name.replace("/", "_") + ".db")
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"] if is_of_ranks else []
    program = [python, *launcher, "tests/programs/%s.py" % name, *words]
    if not os.path.exists(trace):
        subprocess.run([vramscope, "record", "--gpu", "a100-80", "--values", "zeros", "-o", trace, "--", *program],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=command != "out_of_memory",
                       timeout=900)
    found = subprocess.run([vramscope, "why", trace, "--rerun", "--json", "--top", "1000"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, check=True, timeout=900)
    return [block for block in json.loads(found.stdout)["largest"] if block["bytes"] >= SIZE]


def main():
    vramscope, python, folder = sys.argv[1:]
    os.environ["PYTHONPATH"] = "tests/programs"
    sums, reasons = collections.Counter(), collections.Counter()
    print("%-24s" % "without" + "".join("%8s" % column for column in COLUMNS))
    for command in PROGRAMS + OF_RANKS:
        try:
            blocks = blocks_of(command, command in OF_RANKS, vramscope, python, folder)
        except (subprocess.SubprocessError, OSError) as e:
            print("%-24s %s" % (command, e), flush=True)
            continue
        said = [" ".join(block["unknown"]) for block in blocks]
        counts = collections.Counter(
            blocks=len(blocks), shape=sum(b["shape"] is None for b in blocks),
            dtype=sum(b["dtype"] is None for b in blocks), module=sum(b["belongs_to"] is None for b in blocks),
            line=sum(not b["line"] for b in blocks), holder=sum(not b["holders"] for b in blocks),
            reason=sum((b["shape"] is None and "shape:" not in s) or (b["belongs_to"] is None and "module:" not in s)
                       for b, s in zip(blocks, said)))
        sums += counts
        reasons.update(reason for block in blocks for reason in block["unknown"])
        print("%-24s" % command + "".join("%8d" % counts[column] for column in COLUMNS), flush=True)
    print("%-24s" % "all" + "".join("%8d" % sums[column] for column in COLUMNS))
    for reason, count in sorted(reasons.items()):
        print("%8d  %s" % (count, reason))


main()
