# norm of a float16 tensor under autocast: float32. A number leaves its gradient's dtype alone, a tensor with dims does not.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 8)

    def forward(self, x):
        y = self.first(x)
        y = y * y.norm()
        y = y + y.norm(dim=-1, keepdim=True)
        y = y.half()
        y = y * y.norm(dim=1).sum()
        y = y.half()
        return y * y.norm(dim=(0, 1)) + y.norm(dim=(0, 1), keepdim=True)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 6), torch.zeros(1)


def train_step(model, optimizer, scaler, inputs, targets):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(inputs).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()


defaults = dict(batch=4, steps=2)
