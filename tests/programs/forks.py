"""tests/programs/forks.py - a process that has used the GPU forks: the child may not use it, and PyTorch says so."""
import os
import sys

import torch
from figures import figures

x = torch.randn(1 << 20, device="cuda")
pid = os.fork()
if pid == 0:
    try:
        torch.zeros(1, device="cuda")
    except RuntimeError as error:
        os._exit(0 if "forked subprocess" in str(error) else 1)
    os._exit(2)
if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
    sys.exit("PyTorch did not refuse the GPU in the child")
y = x + 1
figures()
