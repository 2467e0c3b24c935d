"""tests/programs/observed/stuck.py FILE - where FILE is a folder, each process puts a file there that is called by its
number, and then hears no SIGTERM. Run alone, or by torchrun.
"""
import os
import signal
import sys
import time

import torch
from figures import figures

torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
x = torch.randn(1 << 20, device="cuda")
if os.path.isdir(sys.argv[1]):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    while True:
        time.sleep(60)
y = x + 1
figures()
