# A region with autocast off inside the forward, and a layer norm between half matmuls.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(32, 32)
        self.norm = nn.LayerNorm(32)
        self.fc2 = nn.Linear(32, 32)
        self.out = nn.Linear(32, 5)

    def forward(self, x):
        x = self.norm(F.gelu(self.fc1(x)))
        with torch.autocast("cuda", enabled=False):
            x = self.fc2(x.to(self.fc2.weight.dtype))
        x = F.softmax(x, dim=1) * x
        return self.out(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 32), torch.randint(0, 5, (n,))


defaults = dict(batch=8)
