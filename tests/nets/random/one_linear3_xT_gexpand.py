# linear3: F.linear(x, w, b); input T, gradient expand; every choice of what requires grad.
import torch
import torch.nn as nn
import torch.nn.functional as F


def put(x, w):
    y = x.clone()
    y[:, :, 1:3] = w
    return y


def put2(x, w):
    y = x * 1.0
    y[..., 0] = w
    y[:, 2] = 0.0
    return y


def put3(x, w):
    y = x * 2.0
    y.select(-1, 0).mul_(w)
    return y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.zeros(4, 6, 8))
        self.w = nn.Parameter(torch.zeros(5,6))
        self.b = nn.Parameter(torch.zeros(5))
        self.register_buffer("m", torch.zeros(8))
        self.register_buffer("v", torch.ones(8))
        self.register_buffer("pw", torch.ones(6))
        self.register_buffer("t", torch.ones(4, 8, 6))
        self.register_buffer("ids", torch.zeros(4, 8, dtype=torch.long))
        self.register_buffer("i1", torch.zeros(8, dtype=torch.long))
        self.register_buffer("c8", torch.zeros(8, dtype=torch.long))
        self.register_buffer("gi", torch.zeros(4, 8, 6, dtype=torch.long))
        self.register_buffer("boolean", torch.ones(8, 5, dtype=torch.bool))
        self.register_buffer("boolean6", torch.ones(8, 6, dtype=torch.bool))

    def forward(self, inputs):
        x, w, b = self.x.transpose(-1, -2), self.w, self.b
        return F.linear(x, w, b)


def model():
    return Net()


def batch(n):
    return torch.zeros(1), torch.zeros(1)


CHOICES = ((True, True, True), (True, False, True), (False, True, True), (False, False, True),
           (True, False, False), (False, True, False), (True, True, False))


def train_step(model, optimizer, scaler, inputs, targets):
    for x, w, b in CHOICES:
        model.x.requires_grad_(x)
        model.w.requires_grad_(w)
        model.b.requires_grad_(b)
        y = model(inputs)
        if y.requires_grad:
            y.sum().backward()
        del y
        optimizer.zero_grad()
    return torch.zeros(1)


defaults = dict(batch=1, steps=1)
