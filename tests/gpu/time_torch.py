#!/usr/bin/env python3
"""tests/gpu/time_torch.py - the time of a training step under PyTorch eager on the GPU: one JSON line.

    python3 tests/gpu/time_torch.py NET.py

The loop of tests/oracle, the net's own defaults, each step ended by a wait for the device; the first steps are left
out. Medians: in float32 throughout, which is what ours computes, and with PyTorch's own default, which convolves in
TF32.
"""
import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "oracle"))
import nogpu  # noqa: E402

nogpu.enter()
import torch  # noqa: E402

import loop  # noqa: E402
import netfile  # noqa: E402
import toggles as tg  # noqa: E402

WARM, STEPS, ROUNDS = 4, 12, 3


class Watch:
    def __init__(self):
        self.took = []

    def step(self, index):
        pass

    def loss(self, value):
        pass

    def batch(self, batch):
        pass

    def loss_ended(self, before_backward):
        pass

    def phase(self, name):
        if name not in ("setup", "zero_grad"):
            return
        torch.cuda.synchronize()
        now = time.perf_counter()
        if name == "zero_grad":
            self.took.append(now - self.last)
        self.last = now

    def finish(self):
        pass


def run(path, words):
    net = netfile.NetFile(path)
    toggles = tg.settle(dict(words, steps=str(STEPS)), net)
    model = net.model()
    tg.prepare(model, toggles)
    model.to("cuda")
    optimizer = net.optimizer(model) if net.optimizer else tg.make_optimizer(model, toggles)
    watch = Watch()
    loop.train(net, model, optimizer, loop.make_scaler(toggles, "cuda"), toggles, "cuda", watch)
    return watch.took[WARM:]


def main():
    path, words = sys.argv[1], sys.argv[2:]
    toggles = dict(w.split("=", 1) for w in words)
    took = {"float32": [], "shipped": []}
    shipped = torch.backends.cudnn.allow_tf32
    rounds = 2 if words else ROUNDS
    for _ in range(rounds):
        for name, allow in (("float32", False), ("shipped", shipped)):
            if name == "float32" and toggles.get("amp", "off") != "off":
                continue  # its products are of half types
            torch.backends.cudnn.allow_tf32 = allow
            took[name] += run(path, toggles)
    own = took["float32"] or took["shipped"]
    print(json.dumps({"case": " ".join([path] + words), "step_seconds": statistics.median(own),
                      "step_seconds_as_shipped": statistics.median(took["shipped"]),
                      "steps_timed": len(own), "torch": torch.__version__}))


if __name__ == "__main__":
    main()
