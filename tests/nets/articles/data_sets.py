# Data sets on the device and on the host: TensorDataset, random_split, a sampler, dicts and numbers joined to batches.
import torch
import torch.nn as nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset, random_split


class Records(Dataset):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return {"x": torch.ones(16) * i, "y": i % 4, "weight": 0.5 * i, "name": "sample"}


records = ConcatDataset([Records(6), Subset(Records(20), range(4))])


def model():
    return nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))


def batch(n):
    return torch.randn(n, 16), torch.randint(0, 4, (n,))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct, total = 0, 0
    for data, target in loader:
        pred = model(data).argmax(dim=1)
        correct += (pred == target).sum()
        total += len(target)
    model.train()
    return correct / total


def train_step(model, optimizer, scaler, inputs, targets):
    on_device = TensorDataset(torch.randn(12, 16).cuda(), torch.randint(0, 4, (12,)).cuda())
    train, valid = random_split(on_device, [8, 4])
    loss_fn = nn.CrossEntropyLoss(reduction="none")
    for x, y in DataLoader(train, batch_size=3):
        optimizer.zero_grad()
        loss = loss_fn(model(x), y).mean()
        loss.backward()
        optimizer.step()
    for item in DataLoader(records, batch_size=4, drop_last=True, num_workers=0, pin_memory=False):
        x, y, weight = item["x"].cuda(), item["y"].cuda(), item["weight"].cuda().float()
        loss = (loss_fn(model(x), y) * weight).mean()
        loss.backward()
    optimizer.step()
    x, y = next(iter(DataLoader(valid, batch_size=2, shuffle=False)))
    loss = loss_fn(model(x), y).mean()
    evaluate(model, DataLoader(valid, batch_size=3, shuffle=False))
    optimizer.zero_grad()
    return loss
