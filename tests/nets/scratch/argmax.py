# Positions of maxima; no gradient flows.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x0 = nn.Parameter(torch.zeros(2000, 512))
        self.x1 = nn.Parameter(torch.zeros(1000, 512))
        self.x2 = nn.Parameter(torch.zeros(1024, 1024))
        self.x3 = nn.Parameter(torch.zeros(4096, 1024))
        self.x4 = nn.Parameter(torch.zeros(5000, 10))
        self.x5 = nn.Parameter(torch.zeros(5001, 7))
        self.x6 = nn.Parameter(torch.zeros(512, 2560))
        self.x7 = nn.Parameter(torch.zeros(100000, 3))
        self.x8 = nn.Parameter(torch.zeros(30, 64, 5000))
        self.x9 = nn.Parameter(torch.zeros(3, 1000000))
        self.x10 = nn.Parameter(torch.zeros(1, 1000000))
        self.x11 = nn.Parameter(torch.zeros(1, 1000000))
        self.x12 = nn.Parameter(torch.zeros(6, 70000, 6))
        self.x13 = nn.Parameter(torch.zeros(400, 2000))
        self.x14 = nn.Parameter(torch.zeros(2, 3000000))
        self.x15 = nn.Parameter(torch.zeros(127, 3))
        self.x16 = nn.Parameter(torch.zeros(50000, 1))

    def forward(self, inputs):
        out = [self.x0.sum()]
        self.x0.argmax(0)
        self.x0.argmin()
        self.x1.argmax(0)
        self.x1.argmin()
        self.x2.argmax(0)
        self.x2.argmin()
        self.x3.argmax(0)
        self.x3.argmin()
        self.x4.argmax(0)
        self.x4.argmin()
        self.x5.argmax(0)
        self.x5.argmin()
        self.x6.argmax(0)
        self.x6.argmin()
        self.x7.argmax(0)
        self.x7.argmin()
        self.x8.argmax(1)
        self.x8.argmin()
        self.x9.argmax(1)
        self.x9.argmin()
        self.x10.argmax(1)
        self.x10.argmin()
        self.x11.argmax(0)
        self.x11.argmin()
        self.x12.argmax(1)
        self.x12.argmin()
        self.x13.argmax(1)
        self.x13.argmin()
        self.x14.argmax(1)
        self.x14.argmin()
        self.x15.argmax(0)
        self.x15.argmin()
        self.x16.argmax(0)
        self.x16.argmin()
        return out


def model():
    return Net()


def batch(n):
    return torch.zeros(n), torch.zeros(1)


def loss(output, target):
    return sum(o.sum() for o in output)


defaults = dict(batch=2, steps=1)
