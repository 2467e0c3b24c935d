"""tests/programs/observed/replaced.py - parameters that are replaced instead of changed: by an attribute, by
load_state_dict(assign=True), by an exchange of tensors; and modules that are wrapped, and unwrapped again."""
import torch
from figures import figures
from torch import nn


class Wrapped(nn.Module):
    """As LoRA does it."""

    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(64, base.weight.shape[1], device="cuda"))
        self.b = nn.Parameter(torch.zeros(base.weight.shape[0], 64, device="cuda"))

    def forward(self, x):
        return self.base(x) + x @ self.a.t() @ self.b.t()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(256, 512), nn.ReLU())
        self.head = nn.Linear(512, 256)

    def forward(self, x):
        return self.head(self.body(x))


def step(net):
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad])
    net(torch.randn(32, 256, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def wrap(net):
    net.body[0], net.head = Wrapped(net.body[0]), Wrapped(net.head)


def unwrap(net):
    net.body[0], net.head = net.body[0].base, net.head.base
    net.requires_grad_(True)


def exchange(net):
    net.body[0].weight.grad = None
    torch.utils.swap_tensors(net.body[0].weight, nn.Parameter(torch.randn(512, 256, device="cuda")))


net = Net().cuda()
step(net)
net.head.weight = nn.Parameter(torch.randn(1000, 512, device="cuda"))
net.head.bias = nn.Parameter(torch.zeros(1000, device="cuda"))
step(net)
net.load_state_dict({k: v.detach().clone() for k, v in net.state_dict().items()}, assign=True)
step(net)
exchange(net)
step(net)
wrap(net)
step(net)
unwrap(net)
step(net)
figures()
