# Normalisation layers over many rows.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.zeros(32, 1000, 768))
        self.y = nn.Parameter(torch.zeros(32, 64, 56, 56))
        self.z = nn.Parameter(torch.zeros(5000, 300))
        self.ln = nn.LayerNorm(768)
        self.w = nn.Parameter(torch.zeros(300))
        self.b = nn.Parameter(torch.zeros(300))
        self.bn = nn.BatchNorm2d(64)
        self.bn1 = nn.BatchNorm1d(300)
        self.gn = nn.GroupNorm(8, 64)
        self.inorm = nn.InstanceNorm2d(64, affine=True)

    def forward(self, inputs):
        out = [self.ln(self.x), F.layer_norm(self.z, (300,), self.w, self.b), F.rms_norm(self.z, (300,), self.w)]
        out += [self.bn(self.y), self.bn1(self.z), self.gn(self.y), self.inorm(self.y)]
        return out


def model():
    return Net()


def batch(n):
    return torch.zeros(n), torch.zeros(1)


def loss(output, target):
    return sum(o.sum() for o in output)


defaults = dict(batch=2, steps=1)
