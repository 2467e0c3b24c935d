# Indices that live on the host, are lists, 32 bits wide or whole numbers: what is copied to the device for them, and when.
# For batches of 2 to 50.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(6, 50, bias=False)

    def forward(self, x):
        return self.w(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 6), torch.randint(0, 50, (n,))


def with_lists(inputs):
    z = inputs * 1
    i = torch.arange(2, device="cuda")
    h = torch.arange(2)
    z[i] = 0.0
    z = inputs * 1
    z[h] = 0.0
    z = inputs * 1
    z[[0, 1]] = 0.0
    z = inputs * 1
    z[[0, 1], 2] = 1.0
    z = inputs * 1
    z[h, i] = 1.0
    z = inputs * 1
    z[h, h] = 1.0
    z = inputs * 1
    z[:, h] = 1.0
    z = inputs * 1
    z[h] = inputs[:2]
    z = inputs * 1
    z[h.unsqueeze(1), h] = 1.0
    z = inputs * 1
    z = z[h.unsqueeze(1), h]
    z = inputs * 1
    z = z[h.unsqueeze(1), i]
    z = inputs * 1
    z = z[torch.tensor(1)]
    z = inputs * 1
    z = z[i, torch.tensor(1)]
    z = inputs * 1
    z = z[torch.tensor([0, 1], dtype=torch.int32)]
    z = inputs * 1
    z = z[[1, 0, 1]]
    z = inputs * 1
    z = z[[0, 1], [1, 2]]


def with_32_bits(inputs):
    i = torch.arange(2, device="cuda")
    h = torch.arange(2)
    z = inputs * 1
    z[i.unsqueeze(1), i] = 1.0
    z = inputs * 1
    z[h.unsqueeze(1), i] = 1.0
    z = inputs * 1
    z[h.unsqueeze(1), h] = inputs[:2, :2]
    z = inputs * 1
    z = z[h, h]
    z = inputs * 1
    z = z[h, i]
    z = inputs * 1
    z = z[i.to(torch.int32)]
    z = inputs * 1
    z[i.to(torch.int32)] = 1.0
    z = inputs * 1
    z[h.to(torch.int32)] = 1.0
    z = inputs * 1
    z = z[h.to(torch.int32), i.to(torch.int32)]
    z = inputs * 1
    z = z[h.expand(2, 2), i]
    z = inputs * 1
    z = z[i, torch.arange(4)[::2]]


def train_step(model, optimizer, scaler, inputs, targets):
    with_lists(inputs)
    with_32_bits(inputs)
    y = model(inputs)
    chosen = y[torch.arange(targets.shape[0]), targets]
    chosen.mean().backward()
    y = model(inputs)
    chosen = y[torch.arange(targets.shape[0], device="cuda"), torch.arange(targets.shape[0])]
    chosen.mean().backward()
    y = model(inputs)
    chosen = y[torch.arange(2)]
    chosen.mean().backward()
    y = model(inputs)
    chosen = y[:, torch.tensor([1, 2, 5])]
    chosen.mean().backward()
    y = model(inputs)
    y = y * 1
    y[torch.arange(2)] = 0.0
    y[torch.arange(2), targets[:2]] = y[torch.arange(2), torch.arange(1, 3)]
    y.mean().backward()
    z = inputs * 1
    z[torch.arange(2)] = 0.0
    z[[0, 1]] = inputs[[1, 0]]
    z[:, [0, 1]] = inputs[:, torch.tensor([1, 3])]
    return None


defaults = dict(batch=40, steps=1)
