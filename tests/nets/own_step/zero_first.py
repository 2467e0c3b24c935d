# zero_grad() at the start, micro-batches in a loop, the mean loss kept as numbers, clipping and a schedule.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Plan:
    def __init__(self):
        self.schedule = None


plan = Plan()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(8 * 64, 10)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        return self.fc(self.drop(x).flatten(1))


criterion = nn.CrossEntropyLoss()


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 8, 8), torch.randint(0, 10, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    if plan.schedule is None:
        plan.schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    optimizer.zero_grad()
    total = 0.0
    for x, y in zip(inputs.split(4), targets.split(4)):
        x = x * 2.0
        output = model(x)
        loss = criterion(output, y) / 3
        loss.backward()
        total += loss.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    plan.schedule.step()
    return total


defaults = dict(batch=12, optimizer="momentum")
