# Two models and two optimizers in one step, three forwards and three backwards.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 30), nn.Tanh())
        self.discriminator = nn.Sequential(nn.Linear(30, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.discriminator(x)


criterion = nn.BCEWithLogitsLoss()


def model():
    return Net()


def batch(n):
    return torch.randn(n, 30), torch.ones(n, 1)


def optimizer(model):
    return [torch.optim.Adam(model.discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999)),
            torch.optim.Adam(model.generator.parameters(), lr=2e-4, betas=(0.5, 0.999))]


def train_step(model, optimizer, scaler, inputs, targets):
    optimizer_d, optimizer_g = optimizer
    model.discriminator.zero_grad()
    error_real = criterion(model.discriminator(inputs), targets)
    error_real.backward()
    noise = torch.randn(inputs.shape[0], 16, device="cuda")
    fake = model.generator(noise)
    label = torch.zeros_like(targets)
    error_fake = criterion(model.discriminator(fake.detach()), label)
    error_fake.backward()
    error_d = error_real + error_fake
    optimizer_d.step()
    model.generator.zero_grad()
    error_g = criterion(model.discriminator(fake), targets)
    error_g.backward()
    optimizer_g.step()
    return error_d.item() + error_g.item()


defaults = dict(batch=12)
