#!/usr/bin/env python3
"""tests/oracle/validate.py - checks the oracle against figures that real GPUs gave.

    python3 tests/oracle/validate.py SNAPSHOT_DIR

lm4: the recorded events of a hand-written language model, kind, size and free-of-which in order;
cnn: the allocations of a recorded conv net (cuDNN, batch norm, pooling, dropout, linear) in order;
the published Swish table; the published pair for bmm of an expanded operand. Prints a line a
check; exit status 1 if one fails.
"""
import gzip
import io
import os
import pickle
import re
import sys
import tempfile

import events
import nogpu

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "sample_nets")
NETS = os.path.join(os.path.dirname(HERE), "nets")
# What no tensor was made for: library workspaces, scratch of reductions and of sorting.
LIBRARY = re.compile(r"getNewWorkspace|CublasHandlePool|getCurrentCUDABlasHandle|gpu_reduce_kernel"
                     r"|radix_sort|cub::|thrust::|CUDACachingAllocator::(get|raw_alloc)")

BMM = '''
import torch
import torch.nn as nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("basis", torch.empty(41292, 64))
        self.x = nn.Parameter(torch.empty(1024, 64, 1))

    def forward(self, inputs):
        return torch.bmm(self.basis.expand(1024, 41292, 64), self.x)

def model():
    return Net()

def batch(n):
    return (), ()

def loss(output, target):
    return output

defaults = dict(batch=1, steps=1)
'''


class DataOnly(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError("a snapshot holds data only, not %s.%s" % (module, name))

    def persistent_load(self, ident):
        raise pickle.UnpicklingError("no persistent ids in a snapshot")


def load(path):
    with gzip.open(path) as f:
        return DataOnly(io.BytesIO(f.read())).load()


def real_events(path):
    """[kind, bytes, id] of the tensors of a recorded trace."""
    out, live, count = [], {}, 0
    for entry in load(path)["device_traces"][0]:
        if entry["action"] == "alloc":
            names = "\n".join(f["name"] for f in entry["frames"])
            if LIBRARY.search(names):
                live[entry["addr"]] = None
                continue
            live[entry["addr"]] = (count, entry["size"])
            out.append(["alloc", entry["size"], count])
            count += 1
        elif entry["action"] == "free_requested":
            made = live.pop(entry["addr"])
            if made is not None:
                out.append(["free", made[1], made[0]])
    return out


def compare(title, real, ours):
    """Equal as far as the recording goes; after its end the program may only free."""
    same = 0
    for a, b in zip(real, ours):
        if a != b:
            break
        same += 1
    rest = [e for e in ours[len(real):] if e[0] == "alloc"]
    good = same == len(real) and not rest
    print("%s: %d of %d events match%s" % (title, same, len(real), "" if good else "  <--"))
    if not good:
        for i in range(max(0, same - 3), min(same + 8, max(len(real), len(ours)))):
            print("   ", i, real[i] if i < len(real) else None, ours[i] if i < len(ours) else None)
    return good


def events_of(case, path, given):
    report = case.memory(path, given)
    if "error" in report:
        raise SystemExit(report.get("trace", report["error"]))
    return report, [[kind, size, ident] for kind, size, op, ident, step, phase in report["event_list"]]


def with_length(name, tokens):
    """A copy of a language model's net file with another context length."""
    with open(os.path.join(SAMPLES, name)) as f:
        text = re.sub(r"^LENGTH = \d+", "LENGTH = %d" % tokens, f.read(), flags=re.M)
    return temporary(text)


def temporary(text):
    f = tempfile.NamedTemporaryFile("w", suffix=".py", delete=False)
    f.write(text)
    f.close()
    return f.name


def check_lm4(case, folder):
    good = True
    for snapshot, net, tokens in (("lm4_train_ctx200", "lm4.py", 200),
                                  ("lm4_train_ctx100", "lm4.py", 100),
                                  ("lm4_forward_ctx100", "lm4_forward.py", 100)):
        real = real_events(os.path.join(folder, snapshot + ".pickle.gz"))
        report, ours = events_of(case, with_length(net, tokens), {})
        good &= compare(snapshot, real, ours)
    return good


def check_cnn(case, folder):
    """A conv net's second iteration: its allocations in forward and backward, in order.

    The recording ran with anomaly detection, which allocates after each node and holds gradients
    longer, so frees are not compared and what the detection allocates is left out.
    """
    trace = load(os.path.join(folder, "cnn_input_optim.pickle.gz"))["device_traces"][0]
    report = case.memory(os.path.join(NETS, "cnn_input.py"), {})
    good = True
    for phase, first, last in (("forward", 583, 656), ("backward", 792, 1136)):
        real = []
        for entry in trace[first:last + 1]:
            names = "\n".join(f["name"] for f in entry["frames"])
            checked = re.search(r"at::_ops::(isnan|any)\w*::", names)
            if entry["action"] == "alloc" and events.TENSOR.search(names) and not checked:
                real.append(["alloc", entry["size"]])
        ours = [["alloc", size] for kind, size, op, ident, step, name in report["event_list"]
                if kind == "alloc" and step == 1 and name == phase]
        if phase == "backward":
            ours = ours[1:]  # the root gradient: there the recorded loss has more terms
        good &= compare("cnn_input_optim, allocations of " + phase, real, ours)
    return good


def check_swish(case):
    """allocated / 2**20, truncated, after data, forward, loss, backward and zero_grad."""
    good = True
    phases = ("data", "forward", "loss", "backward", "zero_grad")
    tables = (("mlp_swish.py", 128, [524, 1552, 1552, 1044, 1044], [1044, 2072, 2072, 1044, 1044]),
              ("mlp_swish.py", 256, None, [None, 3096, None, None, None]),
              ("mlp_swish.py", 512, None, [None, 5144, None, None, None]),
              ("mlp_swish_custom.py", 128, None, [None, 1816, None, None, None]),
              ("mlp_swish_custom.py", 256, None, [None, 2584, None, None, None]),
              ("mlp_swish_custom.py", 512, None, [None, 4120, None, None, None]))
    for net, batch, first, later in tables:
        report = case.memory(os.path.join(SAMPLES, net),
                             {"batch": str(batch), "zero-grad": "zeros"})
        for want, step in ((first, 1), (later, 3)):
            if want is None:
                continue
            row = {p["phase"]: p["allocated_end"] >> 20 for p in report["steps"][step]["phases"]}
            got = [row[p] for p in phases]
            same = all(w is None or w == g for w, g in zip(want, got))
            print("%s batch %d: %s, published %s%s" % (net, batch, got, want,
                                                      "" if same else "  <--"))
            good &= same
        print("    peak %.1f MiB allocated" % (report["peak"]["allocated"] / 2 ** 20))
    return good


def check_bmm(case):
    good = True
    for amp, want in (("off", 180702208), ("fp16", 5508148224)):
        report = case.memory(temporary(BMM), {"amp": amp, "steps": "1", "grad": "eval"})
        row = {p["phase"]: p for p in report["steps"][1]["phases"]}
        got = row["loss"]["allocated_end"]
        same = got == want
        print("bmm, amp %s: %d, published %d%s" % (amp, got, want, "" if same else "  <--"))
        good &= same
    return good


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    nogpu.enter()
    import case
    good = check_lm4(case, sys.argv[1])
    good &= check_cnn(case, sys.argv[1])
    good &= check_swish(case)
    good &= check_bmm(case)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
