"""tests/programs/observed/transforms.py - torch.func's transforms, between ordinary ops.

With the argument `grad` the program trains with grad_and_value, and says whether what it keeps grows by more than half
of what a step allocates. When a graph is released there depends on how the threads of backward meet, so that two runs
differ, and the last one may be released by a thread of backward after the main thread has gone on; without the argument
they are the same.
"""
import sys
import time

import torch
from figures import figures
from torch.func import functional_call, grad, grad_and_value, jvp, vmap
from torch.nn.functional import cross_entropy

net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
params = {name: p.detach().clone() for name, p in net.named_parameters()}


def loss_of(params, x, y):
    return cross_entropy(functional_call(net, params, (x,)), y)


def train(steps):
    global params
    before = None
    for step in range(steps):
        x, y = torch.randn(512, 256, device="cuda"), torch.randint(0, 10, (512,), device="cuda")
        grads, _ = grad_and_value(loss_of)(params, x, y)
        params = {name: p - 0.1 * grads[name] for name, p in params.items()}
        del x, y, grads
        before = before or torch.cuda.memory_allocated()
    vmap(grad(loss_of), in_dims=(None, 0, 0))(params, torch.randn(8, 1, 256, device="cuda"),
                                              torch.randint(0, 10, (8, 1), device="cuda"))
    end = time.monotonic() + 10
    while torch.cuda.memory_allocated() - before > 1 << 20 and time.monotonic() < end:
        time.sleep(0.01)
    print("GROWS" if torch.cuda.memory_allocated() - before > 1 << 20 else "KEPT")


def apply(steps):
    for _ in range(steps):
        x = torch.randn(64, 256, device="cuda", requires_grad=True)
        y = vmap(lambda row: functional_call(net, params, (row,)))(x.detach())
        out, tangent = jvp(lambda x: functional_call(net, params, (x,)), (x.detach(),), (torch.ones_like(x),))
        (net(x) * y * tangent).sum().backward()
        net.zero_grad()
    try:
        vmap(lambda row: row.no_such_method())(x)
    except AttributeError:
        net(x)


train(5) if sys.argv[1:] == ["grad"] else apply(3)
figures()
