# Norms of gradients for clipping: one kernel for a list of one dtype without gaps, each its own otherwise.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.large = nn.Parameter(torch.zeros(70001))
        self.image = nn.Conv2d(3, 4, 3)
        self.f16 = nn.Parameter(torch.zeros(5, dtype=torch.float16))
        self.bf16 = nn.Parameter(torch.zeros(3, 2, dtype=torch.bfloat16))
        self.f64 = nn.Parameter(torch.zeros(7, dtype=torch.float64))
        self.none = nn.Parameter(torch.zeros(0, 3))
        self.unused = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        y = self.image(x).mean() + self.large.sum() + self.none.sum()
        return y + self.f16.float().sum() + self.bf16.float().sum() + self.f64.sum()


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 5, 5), torch.randn(n)


def loss(output, target):
    return (output - target).square().mean()


def train_step(model, optimizer, scaler, inputs, targets):
    l = loss(model(inputs), targets)
    l.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    torch.nn.utils.clip_grad_norm_(model.image.parameters(), 1.0)
    torch.nn.utils.clip_grad_norm_(model.image.bias, 1.0)
    torch.nn.utils.clip_grad_norm_([model.image.weight, model.large], 1.0, foreach=True)
    torch.nn.utils.clip_grad_norm_([model.none, model.image.bias], 1.0)
    torch.nn.utils.clip_grad_norm_([model.image.bias, model.none], 1.0)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
    model.large.grad = torch.zeros(70001, 2, device=model.large.device)[:, 0]
    model.image.weight.grad = model.image.weight.grad.transpose(0, 1).contiguous().transpose(0, 1)
    torch.nn.utils.clip_grad_norm_(model.image.parameters(), 1.0)
    torch.nn.utils.clip_grad_norm_([model.large, model.image.bias], 1.0)
    model.zero_grad()
    return l


defaults = dict(batch=2, steps=2)
