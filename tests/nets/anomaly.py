# Anomaly detection: every backward node's results are looked at for NaN, which takes a mask of one byte an element.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.fc1 = nn.Linear(8, 16)
        self.fc2 = nn.Linear(16, 4, bias=False)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        x = torch.exp(self.fc1(x.mean((2, 3))) * 0.1)
        return self.fc2(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 16, 16), torch.randint(0, 4, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    with torch.autograd.detect_anomaly():
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
    optimizer.step()
    torch.autograd.set_detect_anomaly(True)
    loss = (model(inputs) ** 2).mean()
    loss.backward()
    with torch.autograd.set_detect_anomaly(False):
        F.cross_entropy(model(inputs), targets).backward()
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    F.cross_entropy(model(inputs), targets).backward()
    torch.autograd.set_detect_anomaly(False)
    optimizer.step()
    return loss


defaults = dict(batch=4, optimizer="adam", steps=2)
