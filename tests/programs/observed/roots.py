"""tests/programs/observed/roots.py - a model, its twin that stays on the CPU and runs first, and a second model: names
of parameters are those of the model, as if the twin were not there."""
import copy

import torch
from figures import figures
from torch import nn

torch.zeros(1, device="cuda")  # from here on modules are observed
twin = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU())
twin(torch.zeros(2, 1024))
model = copy.deepcopy(twin).cuda()
other = nn.Sequential(nn.Linear(1024, 1024)).cuda()
for _ in range(2):
    other(model(torch.zeros(512, 1024, device="cuda"))).sum().backward()
    for one in (model, other):
        one.zero_grad()
figures()
