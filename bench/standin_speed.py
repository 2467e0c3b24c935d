#!/usr/bin/env python3
"""bench/standin_speed.py - what a simulated GPU costs: a step, and the start of a program.

    python3 bench/standin_speed.py        in the root of the repository, after make, with PyTorch's build for CUDA

Steps: the same process runs the plain loop on `cuda`, which is simulated, and on `meta`, in turn, with the same
optimizer; `meta` computes shapes alone, so it is PyTorch's own host time. A process of its own runs the same steps
under `vramscope record`, which also keeps the history of the allocator with Python's stacks.
Start-up: `vramscope record -- python3 -c "import torch"` from start to end, less the same `import torch` in a process
that was given the simulated GPU beforehand, without the time for that. Stub libraries are in the cache.
Processor time of all threads, medians. Exit status 1 where a bound is exceeded.
"""
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "oracle"))
VRAMSCOPE = os.environ.get("VRAMSCOPE") or os.path.join(ROOT, "build", "vramscope")
CASES = (("sample_nets/lenet.py", 64), ("sample_nets/resnet18.py", 8), ("sample_nets/gpt2_small.py", 4))
WARM, STEPS, STARTS = 3, 20, 9
STEP_BOUND, START_BOUND_S = 1.0, 0.3


class Loop:
    """A model on a device, and its steps."""

    def __init__(self, path, batch, device):
        import torch

        spec = importlib.util.spec_from_file_location("net", os.path.join(ROOT, path))
        self.net = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.net)
        self.batch, self.device, self.times = batch, torch.device(device), []
        with self.device:
            self.model = self.net.model()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), foreach=True)
        self.loss = getattr(self.net, "loss", torch.nn.functional.cross_entropy)

    def step(self):
        start = time.process_time()
        with self.device:
            inputs, targets = self.net.batch(self.batch)
            self.loss(self.model(inputs), targets).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.times.append(time.process_time() - start)

    def median_ms(self):
        return 1e3 * statistics.median(self.times[WARM:])


def steps_recorded(path, batch):
    """Milliseconds of a step under `vramscope record`."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([VRAMSCOPE, "record", "--gpu", "a100-80", "-o", os.path.join(folder, "t.db"), "--",
                               sys.executable, os.path.abspath(__file__), "--inside", path, str(batch)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
    return float(done.stdout.split()[-1])


def measure_steps():
    import nogpu
    nogpu.enter()
    import torch
    torch.set_num_threads(1)
    is_slow = False
    for path, batch in CASES:
        loops = [Loop(path, batch, device) for device in ("cuda", "meta")]
        for _ in range(WARM + STEPS):
            for loop in loops:
                loop.step()
        ours, peer = (loop.median_ms() for loop in loops)
        recorded = steps_recorded(path, batch)
        is_slow |= ours > STEP_BOUND * peer
        print("step of %s, batch %d: %.2f ms simulated, %.2f ms on meta: %.2f; recorded %.2f ms: %.2f"
              % (path, batch, ours, peer, ours / peer, recorded, recorded / peer), flush=True)
    return is_slow


def inside(path, batch):
    import torch
    torch.set_num_threads(1)
    loop = Loop(path, batch, "cuda")
    for _ in range(WARM + STEPS):
        loop.step()
    print(loop.median_ms(), flush=True)


IMPORT_ALONE = """
import sys, time
start = time.process_time(), time.perf_counter()
sys.path.insert(0, %r)
import nogpu
nogpu.prepare()
start = time.process_time() - start[0], time.perf_counter() - start[1]
import torch
print(*start)
"""


def spent(words):
    """(processor seconds, wall seconds, what it printed) of a process and its children."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
    end, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, end - begin, done.stdout)


def measure_start():
    alone, whole = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(STARTS):
            cpu, wall, said = spent([sys.executable, "-c", IMPORT_ALONE % os.path.join(ROOT, "tests", "oracle")])
            alone.append(tuple(all_of - float(own) for all_of, own in zip((cpu, wall), said.split())))
            whole.append(spent([VRAMSCOPE, "record", "--gpu", "a100-80", "-f", "-o", os.path.join(folder, "t.db"), "--",
                                sys.executable, "-c", "import torch"])[:2])
    a, b = ([statistics.median(t[i] for t in times) for i in (0, 1)] for times in (alone, whole))
    print("import torch: %.2f s of processor time, recorded %.2f s: %.2f s more (by the clock %.2f s, %.2f s)"
          % (a[0], b[0], b[0] - a[0], a[1], b[1]))
    return b[0] - a[0] > START_BOUND_S


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], int(sys.argv[3]))
        sys.exit(0)
    if sys.argv[1:]:
        sys.exit(__doc__)
    slow = [measure_steps(), measure_start()]
    sys.exit(any(slow))
