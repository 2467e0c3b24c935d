"""tests/programs/faults/leak/list_of_losses.py - keeps each step's loss as a tensor, to print their mean at the end."""
import torch
from torch import nn

model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(steps):
    losses = []
    for _ in range(steps):
        x = torch.randn(128, 512, device="cuda")
        y = torch.randint(0, 10, (128,), device="cuda")
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)  # fault: leak
        # repaired: losses.append(loss.item())
    return sum(float(loss) for loss in losses) / steps


print(train(8))
