# Products of everything; the gradient looks for zeros first.
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
        self.x9 = nn.Parameter(torch.zeros(64, 3, 224, 224))
        self.x10 = nn.Parameter(torch.zeros(8, 128, 56, 56))
        self.x11 = nn.Parameter(torch.zeros(3, 1000000))
        self.x12 = nn.Parameter(torch.zeros(1, 1000000))
        self.x13 = nn.Parameter(torch.zeros(1, 1000000))
        self.x14 = nn.Parameter(torch.zeros(20, 8, 16, 512, 4))
        self.x15 = nn.Parameter(torch.zeros(6, 70000, 6))
        self.x16 = nn.Parameter(torch.zeros(400, 2000))
        self.x17 = nn.Parameter(torch.zeros(2, 3000000))
        self.x18 = nn.Parameter(torch.zeros(127, 3))
        self.x19 = nn.Parameter(torch.zeros(50000, 1))

    def forward(self, inputs):
        out = [self.x0.prod(), self.x5.prod(), self.x18.prod()]
        self.x0.detach().prod()
        self.x1.detach().prod()
        self.x2.detach().prod()
        self.x3.detach().prod()
        self.x4.detach().prod()
        self.x5.detach().prod()
        self.x6.detach().prod()
        self.x7.detach().prod()
        self.x8.detach().prod()
        self.x9.detach().prod()
        self.x10.detach().prod()
        self.x11.detach().prod()
        self.x12.detach().prod()
        self.x13.detach().prod()
        self.x14.detach().prod()
        self.x15.detach().prod()
        self.x16.detach().prod()
        self.x17.detach().prod()
        self.x18.detach().prod()
        self.x19.detach().prod()
        return out


def model():
    return Net()


def batch(n):
    return torch.zeros(n), torch.zeros(1)


def loss(output, target):
    return sum(o.sum() for o in output)


defaults = dict(batch=2, steps=1)
