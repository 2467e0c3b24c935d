# Six triples of convolution, batch norm and leaky ReLU, as layers of their own.
#
# Lesson: autograd keeps three large tensors of a triple: the convolution's result for the batch norm, the batch norm's
# for the leaky ReLU, and the leaky ReLU's for the next convolution. inplace_abn.py keeps one.
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.conv = nn.Conv2d(before, after, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(after)
        self.act = nn.LeakyReLU(0.01)

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(3 if i == 0 else 32, 32) for i in range(6)])
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.blocks(x)
        return self.fc(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 64, 64), torch.randint(0, 10, (n,))


defaults = dict(batch=16, steps=2)
