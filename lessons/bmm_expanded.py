# A product with an expanded buffer, with and without autocast: the second net of lesson 13.
# Lesson: the cast copies the expanded tensor in full, and autograd keeps the copy.
import torch
import torch.nn as nn

AMP = False


class Bmm(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("basis", torch.randn(41292, 64))

    def forward(self, x):
        basis = self.basis.expand(1024, 41292, 64)
        return torch.bmm(basis, x)


class Nothing:
    def step(self):
        return None

    def zero_grad(self, set_to_none=True):
        return None


def model():
    return Bmm()


def optimizer(model):
    return Nothing()


def batch(n):
    return torch.randn(1024, 64, 1), ()


def train_step(model, optimizer, scaler, inputs, targets):
    inputs.requires_grad_()
    with torch.autocast("cuda", enabled=AMP):
        output = model(inputs)
    print(f"after forward: {torch.cuda.memory_allocated()}")
    return None


defaults = dict(batch=1024, steps=1)
