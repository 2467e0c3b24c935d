# Losses of large batches.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.zeros(6000, 1000))
        self.y = nn.Parameter(torch.zeros(4000, 3000))
        self.z = nn.Parameter(torch.zeros(8, 21, 200, 200))

    def forward(self, inputs):
        ids = torch.zeros(6000, dtype=torch.long, device=inputs.device)
        map_ids = torch.zeros(8, 200, 200, dtype=torch.long, device=inputs.device)
        goal = torch.zeros_like(self.y)
        out = [F.cross_entropy(self.x, ids), F.cross_entropy(self.x, ids, reduction="none"), F.cross_entropy(self.z, map_ids), F.cross_entropy(self.x, ids, label_smoothing=0.1)]
        out += [F.mse_loss(self.y, goal), F.mse_loss(self.y, goal, reduction="sum"), F.l1_loss(self.y, goal), F.smooth_l1_loss(self.y, goal)]
        out += [F.binary_cross_entropy_with_logits(self.y, goal), F.nll_loss(F.log_softmax(self.x, 1), ids)]
        return out


def model():
    return Net()


def batch(n):
    return torch.zeros(n), torch.zeros(1)


def loss(output, target):
    return sum(o.sum() for o in output)


defaults = dict(batch=2, steps=1)
