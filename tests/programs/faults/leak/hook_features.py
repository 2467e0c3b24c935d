"""tests/programs/faults/leak/hook_features.py - a forward hook that collects features and is never emptied."""
import torch
from torch import nn

features = []


def collect(module, args, output):
    features.append(output)  # fault: leak
    # repaired: features[:] = [output]


model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()
model[2].register_forward_hook(collect)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    x = torch.randn(256, 512, device="cuda")
    loss = model(x).logsumexp(1).mean() + features[-1].abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
