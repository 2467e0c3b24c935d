"""tests/programs/toggles/regression.py - the model is made on the GPU, called with names, and its loss is a module."""
import hand
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 200), nn.SiLU(inplace=hand.inplace), nn.Linear(200, 200),
                                    nn.SiLU(inplace=hand.inplace), nn.Linear(200, 1))

    def forward(self, features, weight=None):
        out = self.layers(features)
        return out if weight is None else out * weight


with torch.device("cuda"):
    net = Net()
if "freeze" in hand.values:
    net.layers[0].requires_grad_(False)
criterion = nn.MSELoss()
optimizer = hand.optimizer(torch.optim.SGD, net.parameters(), lr=1e-2)
total = 0.0
for _ in range(3):
    features = torch.randn(100, 20, device="cuda")
    weight = torch.rand(100, 1, device="cuda")
    optimizer.zero_grad(**hand.zero)
    with hand.autocast():
        prediction = hand.forward(net, features=features, weight=weight)
        loss = criterion(prediction, torch.zeros(100, 1, device="cuda"))
    hand.scale(loss).backward()
    hand.step(optimizer)
    total += loss.item()
