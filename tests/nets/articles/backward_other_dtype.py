# A gradient of another dtype is converted before the backward begins.
import torch
import torch.nn as nn


def model():
    return nn.Linear(30, 50)


def batch(n):
    return torch.randn(n, 30), torch.randn(n, 50).half()


def train_step(model, optimizer, scaler, inputs, targets):
    y = model(inputs)
    y.backward(targets)
    optimizer.step()
    optimizer.zero_grad()


defaults = dict(batch=12)
