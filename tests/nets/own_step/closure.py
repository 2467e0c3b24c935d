# step() with a closure, an optimizer that the file defines itself, gradients with respect to the input, and a net
# whose blocks are checkpointed by hand.
import torch
import torch.nn as nn
import torch.nn.functional as F

from torch.utils.checkpoint import checkpoint


class Descent(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, dict(lr=0.01))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.add_(p.grad * p.grad.abs().sqrt(), alpha=-group["lr"])
        return loss


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(30, 90)
        self.down = nn.Linear(90, 30)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(30, 30)
        self.first = Block()
        self.second = Block()

    def forward(self, x):
        x = self.stem(x)
        x = checkpoint(self.first, x, use_reentrant=True)
        return checkpoint(self.second, x, use_reentrant=False)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 30), torch.randn(n, 30)


def optimizer(model):
    return Descent(model.parameters())


def train_step(model, optimizer, scaler, inputs, targets):
    probe = inputs.detach().requires_grad_()
    stem = F.mse_loss(model.stem(probe), targets)
    direction, = torch.autograd.grad(stem, probe)
    shifted = inputs + 0.1 * direction.sign()

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(shifted), targets)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    with torch.no_grad():
        check = F.mse_loss(model(inputs), targets)
    return loss.detach() + check


defaults = dict(batch=12)
