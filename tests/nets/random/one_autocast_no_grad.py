# A weight that autocast casts and keeps while no gradient is wanted: the copy has a history all the same, so a product folds its batch.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(5, 6))
        self.v = nn.Parameter(torch.zeros(6, 6))

    def forward(self, x):
        x = x.transpose(0, 1)
        with torch.no_grad():
            a = F.linear(x, self.w)
            b = F.linear(x, self.v[:])
        y = F.linear(x, self.w)
        with torch.autocast("cuda", dtype=torch.float16, cache_enabled=False), torch.no_grad():
            c = F.linear(x, self.v)
        return y * a + b.mean() + c.mean()


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 6), torch.zeros(1)


def train_step(model, optimizer, scaler, inputs, targets):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(inputs).sum()
    loss.backward()
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16), torch.no_grad():
        loss = model(inputs).sum()
    return loss


defaults = dict(batch=4, steps=2)
