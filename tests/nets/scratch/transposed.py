# Reductions of views: transposed, sliced, expanded, with odd offsets.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.zeros(3000, 700))
        self.y = nn.Parameter(torch.zeros(64, 300, 128))
        self.z = nn.Parameter(torch.zeros(5000, 516))

    def forward(self, inputs):
        out = [self.x.t().sum(0), self.x.t().sum(1), self.x[1:].sum(0), self.x[:, 1:].sum(0), self.x[:, 2:].sum(0), self.x[:, ::2].sum(0)]
        out += [self.y.permute(2, 0, 1).sum(1), self.y.permute(2, 0, 1).sum(0), self.y.permute(1, 2, 0).sum((0, 2)), self.y.transpose(0, 1).mean((0, 1))]
        out += [self.z[:, 4:].sum(0), self.z[:, 3:515].sum(0), self.z[:, :1].expand(5000, 200).sum(0), self.z.view(5000, 4, 129).sum((0, 1)), self.z.unsqueeze(1).sum(0)]
        return out


def model():
    return Net()


def batch(n):
    return torch.zeros(n), torch.zeros(1)


def loss(output, target):
    return sum(o.sum() for o in output)


defaults = dict(batch=2, steps=1)
