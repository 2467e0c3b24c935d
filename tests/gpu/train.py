#!/usr/bin/env python3
"""tests/gpu/train.py - a training script as users write them, for `vramscope record -- python3 train.py [--oom]`.
Prints one JSON line: what PyTorch counted."""
import json
import sys

import torch
import torch.nn as nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(),
                          nn.Linear(2048, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(4):
        inputs = torch.randn(256, 512, device="cuda")
        targets = torch.randint(0, 10, (256,), device="cuda")
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    kept = []
    while "--oom" in sys.argv:
        kept.append(torch.empty(8 << 30, dtype=torch.uint8, device="cuda"))
    torch.cuda.synchronize()
    print(json.dumps({"allocated": torch.cuda.max_memory_allocated(),
                      "reserved": torch.cuda.max_memory_reserved(), "loss": loss.item()}))


if __name__ == "__main__":
    main()
