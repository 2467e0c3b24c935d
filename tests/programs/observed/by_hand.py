"""tests/programs/observed/by_hand.py - a training loop without torch.optim: leaves and their momentum, or, with the
argument `module`, a module whose parameters are changed through `.data`."""
import sys

import torch
from figures import figures
from torch.nn.functional import cross_entropy


def leaves():
    scale = torch.randn(256, 512, device="cuda")  # set-up: a parameter follows
    w = (scale / 16).requires_grad_()
    v = torch.randn(512, 10, device="cuda", requires_grad=True)
    momentum = {}
    for _ in range(3):
        x = torch.randn(64, 256, device="cuda")
        y = torch.randint(0, 10, (64,), device="cuda")
        h = torch.relu(x @ w)
        loss = cross_entropy(h @ v, y)
        loss.backward()
        with torch.no_grad():
            for p in w, v:
                if p not in momentum:
                    momentum[p] = torch.zeros_like(p)
                momentum[p].mul_(0.9).add_(p.grad)
                p -= 0.1 * momentum[p]
                p.grad.zero_()


def module():
    net = torch.nn.Linear(256, 10).cuda()
    for _ in range(3):
        x = torch.randn(64, 256, device="cuda", requires_grad=True)
        loss = net(x * 2).square().mean()
        loss.backward()
        for p in net.parameters():
            p.data.add_(p.grad * -0.1)
            p.grad = None


module() if sys.argv[1:] == ["module"] else leaves()
figures()
