# A chain of activation modules, each on a linear layer's output: what may be in place.
# ELU, CELU and SELU are left out: in place their gradient comes from the result, and whether
# its bits agree depends on the values.
import torch
import torch.nn as nn


def model():
    layers = []
    for act in (nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(0.1), nn.SiLU(),
                nn.Mish(), nn.Hardswish(), nn.Hardsigmoid(), nn.Hardtanh(),
                nn.Threshold(0.1, 0.2), nn.GELU(), nn.Tanh(), nn.Sigmoid(), nn.Dropout(0.2)):
        layers.append(nn.Linear(24, 24))
        layers.append(act)
    return nn.Sequential(*layers)


def batch(n):
    return torch.randn(n, 24), torch.randint(0, 24, (n,))


defaults = dict(batch=10)
