"""tests/programs/faults/fragmentation/requests_of_any_length.py - a server keeps a cache of each request's own
length while the request lasts."""
import collections
import random

import torch
from torch import nn

random.seed(1)
decode = nn.Linear(1024, 1024).cuda()
active = collections.deque()
with torch.no_grad():
    for request in range(60):
        cache = torch.zeros(random.randint(1000, 12000), 1024, device="cuda")  # fault: fragmentation
        # repaired: cache = torch.zeros(12000, 1024, device="cuda")
        active.append(cache)
        for one in active:
            one[0] = decode(one[:1]).mean(0)
        if len(active) > 6:
            active.popleft()
