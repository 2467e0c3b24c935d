# Hooks on leaves: a gradient that is taken over, copied or added to before they run; several in order, one removed, one that removes
# itself, one that gives back what it was given.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.fc = nn.Linear(64, 10)
        self.scale = nn.Parameter(torch.ones(10))
        self.shift = nn.Parameter(torch.ones(5))
        self.kept = nn.Parameter(torch.ones(3000))

    def forward(self, x):
        x = self.fc(self.inner(x)) * self.scale
        return x * (self.shift.sum() + (self.kept * 2).mean() + self.kept.max())


class Hooks:
    def __init__(self, model):
        self.calls = 0
        self.of = {}
        for p in model.inner.parameters():
            if p.requires_grad:
                self.of[p] = torch.optim.SGD([p], lr=0.01, momentum=0.9)
                p.register_post_accumulate_grad_hook(self.update)
        self.others = [p for p in model.parameters() if p not in self.of]
        if model.kept.requires_grad:
            model.fc.bias.register_post_accumulate_grad_hook(self.let_go)
            model.scale.register_post_accumulate_grad_hook(self.let_go)
            model.shift.register_post_accumulate_grad_hook(self.let_go)
            model.kept.register_post_accumulate_grad_hook(self.look)
            model.kept.register_post_accumulate_grad_hook(self.other)
            model.kept.register_post_accumulate_grad_hook(self.look)
            removed = model.kept.register_post_accumulate_grad_hook(self.let_go)
            removed.remove()
            removed.remove()
            self.handle = model.fc.weight.register_post_accumulate_grad_hook(self.once)

    def update(self, p):
        self.of[p].step()
        self.of[p].zero_grad()
        t = torch.zeros(p.numel() * 3, device=p.device)

    def let_go(self, p):
        p.grad = None
        t = torch.zeros(p.numel() * 7, device=p.device)

    def look(self, p):
        t = torch.zeros(p.numel() * 11, device=p.device)
        self.calls += 1
        if self.calls > 5:
            u = torch.zeros(12345, device=p.device)

    def other(self, p):
        t = torch.zeros(p.numel() * 5, device=p.device)
        return p

    def once(self, p):
        self.handle.remove()
        t = torch.zeros(p.numel() * 13, device=p.device)

    def step(self):
        with torch.no_grad():
            for p in self.others:
                if p.grad is not None:
                    p.add_(p.grad, alpha=-0.01)

    def zero_grad(self, set_to_none=True):
        for p in self.others:
            if p.grad is not None:
                if set_to_none:
                    p.grad = None
                else:
                    p.grad.zero_()


def optimizer(model):
    return Hooks(model)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 64), torch.randint(0, 10, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=8, steps=4)
