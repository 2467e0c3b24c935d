#!/usr/bin/env python3
"""bench/step_peer.py - the peer of bench_step.c: PyTorch on the CPU, a net file, the loop of tests/oracle.

    python3 bench/step_peer.py NET.py THREADS STEPS keep|flush [--TOGGLE VALUE ...]

Says "ready VERSION" once the model is made, or "none WHY" where PyTorch cannot be had. Each line on stdin requests one
step, each answer is "loss" and then wall and processor seconds of each phase, in the order of PHASES.
keep or flush: subnormal numbers, as torch.set_flush_denormal does it.
"""
import importlib.util
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "oracle"))
PHASES = ("data", "forward", "loss", "backward", "optimizer", "zero_grad")


def say(text):
    print(text, flush=True)


def load_torch():
    """Imports torch; a CUDA build without its libraries, over a simulated GPU."""
    if importlib.util.find_spec("torch") is None:
        say("none no module named torch")
        sys.exit(0)
    import nogpu
    try:
        if nogpu.has_cuda():
            nogpu.enter()
        import torch
    except (ImportError, OSError, SystemExit) as reason:
        say("none " + str(reason).splitlines()[0])
        sys.exit(0)
    return torch


class Watch:
    """Waits for a request before each step, answers it with what the step took."""

    def __init__(self):
        self.times = {}

    def begin(self):
        if not sys.stdin.readline():
            sys.exit(0)
        self.times = {}
        self.last = time.perf_counter(), time.process_time()

    def step(self, index):
        pass

    def loss(self, value):
        self.value = value.item()

    def phase(self, name):
        now = time.perf_counter(), time.process_time()
        if name == "setup":
            say("ready " + sys.modules["torch"].__version__)
            return self.begin()
        self.times[name] = now[0] - self.last[0], now[1] - self.last[1]
        self.last = now
        if name == PHASES[-1]:
            say(" ".join(["%.9g" % self.value] + ["%.9f %.9f" % self.times[p] for p in PHASES]))
            self.begin()

    def finish(self):
        pass


def main():
    torch = load_torch()
    import loop
    import netfile
    import toggles as tg
    path, threads, steps, subnormals, *words = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.set_num_interop_threads(1)
    torch.set_flush_denormal(subnormals == "flush")
    net = netfile.NetFile(path)
    given = {name[2:]: value for name, value in zip(words[::2], words[1::2])}
    toggles = tg.settle({**given, "steps": steps}, net)
    model = net.model()
    tg.prepare(model, toggles)
    optimizer = net.optimizer(model) if net.optimizer else tg.make_optimizer(model, toggles)
    loop.train(net, model, optimizer, loop.make_scaler(toggles, "cpu"), toggles, "cpu", Watch())


if __name__ == "__main__":
    main()
