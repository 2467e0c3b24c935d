# A net in two halves: first the front is trained with a head of its own, then the back on the front's frozen features.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Linear(30, 60), nn.ReLU(), nn.Linear(60, 40), nn.ReLU())
        self.head = nn.Linear(40, 7)
        self.back = nn.Sequential(nn.Linear(40, 80), nn.ReLU(), nn.Linear(80, 7))

    def forward(self, x):
        return self.back(self.front(x))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 30), torch.randint(0, 7, (n,))


def optimizer(model):
    front = list(model.front.parameters()) + list(model.head.parameters())
    return torch.optim.SGD(front, lr=0.1, momentum=0.9), torch.optim.Adam(model.back.parameters())


def train_step(model, optimizer, scaler, inputs, targets):
    first, second = optimizer
    features = model.front(inputs)
    loss = F.cross_entropy(model.head(features), targets)
    first.zero_grad()
    loss.backward()
    first.step()
    del features, loss
    with torch.no_grad():
        features = model.front(inputs)
    loss = F.cross_entropy(model.back(features), targets)
    second.zero_grad()
    loss.backward()
    second.step()
    return loss.detach()


defaults = dict(batch=12)
