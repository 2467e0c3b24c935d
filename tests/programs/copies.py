"""tests/programs/copies.py - a moving average of a network: deepcopy copies storages, which no operator allocates."""
import copy

import torch
from figures import figures
from torch import nn

model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.Linear(64, 8)).cuda()
average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    model(torch.randn(16, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    average.update_parameters(model)
kept = copy.deepcopy(model.state_dict())
storage = torch.UntypedStorage(100000, device="cuda")
storage.clone()
figures()
