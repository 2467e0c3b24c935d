# Normalisation of very many short rows, and of few long ones.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.many = nn.Parameter(torch.zeros(200000, 64))
        self.more = nn.Parameter(torch.zeros(100000, 512))
        self.few = nn.Parameter(torch.zeros(12, 8192))
        self.flat = nn.Parameter(torch.zeros(300, 2048))
        self.w = nn.Parameter(torch.zeros(64))
        self.b = nn.Parameter(torch.zeros(64))
        self.w2 = nn.Parameter(torch.zeros(512))
        self.b2 = nn.Parameter(torch.zeros(512))
        self.w3 = nn.Parameter(torch.zeros(8192))
        self.b3 = nn.Parameter(torch.zeros(8192))
        self.bn = nn.BatchNorm1d(64)
        self.bn2 = nn.BatchNorm1d(512)
        self.bn3 = nn.BatchNorm1d(2048)

    def forward(self, inputs):
        out = [F.layer_norm(self.many, (64,), self.w, self.b), F.rms_norm(self.many, (64,), self.w)]
        out += [F.layer_norm(self.more, (512,), self.w2, self.b2)]
        out += [F.layer_norm(self.more, (512,), self.w2), F.rms_norm(self.more, (512,), self.w2)]
        out += [F.layer_norm(self.few, (8192,), self.w3, self.b3)]
        out += [self.bn(self.many), self.bn2(self.more), self.bn3(self.flat)]
        return out


def model():
    return Net()


def batch(n):
    return torch.zeros(n), torch.zeros(1)


def loss(output, target):
    return sum((o * o).sum() for o in output)


defaults = dict(batch=2, steps=1)
