# clip_grad_norm_ that asks whether the norm is finite: two tests of one number, their disjunction and its value.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.randn(7, 90))

    def forward(self, inputs):
        return self.x * 2.0


def model():
    return Net()


def batch(n):
    return torch.randn(n), torch.randn(7, 90)


def train_step(model, optimizer, scaler, inputs, targets):
    loss = (model(inputs) * targets).sum()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
    optimizer.step()
    optimizer.zero_grad()
    return loss


defaults = dict(batch=2, steps=2)
