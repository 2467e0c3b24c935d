"""tests/programs/observed/threads.py - a second thread of the program trains with checkpoints while the first one
waits.

Only the first thread is observed: what the recorder notes does not grow, and so it has not looked at graphs of the
second one, whose tensors that would keep.
"""
import gc
import sys
import threading

import torch
from figures import figures
from torch import nn
from torch.utils.checkpoint import checkpoint

block = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()


def train():
    for _ in range(2):
        with torch.autocast("cuda", torch.bfloat16):
            y = checkpoint(block, torch.randn(8, 64, device="cuda", requires_grad=True), use_reentrant=False)
        y.float().sum().backward()


def noted():
    """How many notes the recorder has made; None where it does not observe."""
    observers = [found for found in gc.get_objects() if type(found).__name__ == "Nodes"]
    return len(observers[0].events.noted) if observers else None


train()
before = noted()
thread = threading.Thread(target=train)
thread.start()
thread.join()
if noted() != before:
    sys.exit("of a thread that is not observed was noted: %s, before it %s" % (noted(), before))
train()
if before is not None and noted() <= before:
    sys.exit("nothing was noted of the thread that is observed")
figures()
