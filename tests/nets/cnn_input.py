# The image is what is trained, the weights are frozen: the program of a recording on a GPU
# (three times conv, ReLU, batch norm, pool; then three times dropout, linear, ReLU).
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Parameter(torch.randn(1, 30, 256, 256))
        channels = [30, 16, 32, 64]
        self.convs = nn.ModuleList()
        self.norms = nn.ModuleList()
        for i in range(3):
            self.convs.append(nn.Conv2d(channels[i], channels[i + 1], 3, padding="same"))
            self.norms.append(nn.BatchNorm2d(channels[i + 1]))
        self.drop = nn.Dropout(0.2)
        self.linears = nn.ModuleList([nn.Linear(64, 200), nn.Linear(200, 100), nn.Linear(100, 20)])
        self.out = nn.Linear(20, 1)
        for module in (self.convs, self.norms, self.linears, self.out):
            module.requires_grad_(False)

    def forward(self, inputs):
        x = self.image
        for i in range(3):
            x = F.max_pool2d(self.norms[i](F.relu(self.convs[i](x))), 2)
        x = F.max_pool2d(x, x.shape[2]).flatten(1)
        for linear in self.linears:
            x = F.relu(linear(self.drop(x)))
        return self.out(x)


def model():
    return Net()


def batch(n):
    return (), ()


def loss(output, target):
    return output.sum()


defaults = dict(batch=1, optimizer="adam")
