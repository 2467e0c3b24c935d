"""tests/programs/killed/killed.py [kill] - a training loop of 60 steps; with `kill` it is killed when its history has
been saved twice.
"""
import glob
import os
import signal
import sys
import time

import torch

FOLDER = os.environ["PYTHONPATH"].split(":")[0]  # the recorder's


def saved():
    times = 0
    for path in glob.glob(os.path.join(FOLDER, "*.status")):
        with open(path) as file:
            times += file.read().count("dump interval")
    return times


def end_if_saved():
    if sys.argv[1:] == ["kill"] and saved() >= 2:
        os.kill(os.getpid(), signal.SIGKILL)


net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(60):
    net(torch.ones(16, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    end_if_saved()
while sys.argv[1:] == ["kill"]:
    time.sleep(0.01)
    end_if_saved()
