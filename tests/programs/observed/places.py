"""tests/programs/observed/places.py - parameters that are parts of one buffer, and parameters that no module has: in
variables, containers and objects of the program, and copies that only an optimizer knows."""
import torch
from figures import figures
from torch import nn


class Scales:
    def __init__(self):
        self.low = torch.ones(256, 256, device="cuda", requires_grad=True)


def flattened(net):
    """As DeepSpeed and Apex do: the parameters become views of one tensor."""
    flat = torch.cat([p.data.reshape(-1) for p in net.parameters()])
    at = 0
    for p in net.parameters():
        p.data = flat[at:at + p.numel()].view(p.shape)
        at += p.numel()
    return net


def of_copies(net):
    return torch.optim.SGD([p.detach().clone().requires_grad_() for p in net.parameters()], momentum=0.9)


def tensors_alone():
    w = torch.randn(256, 256, device="cuda", requires_grad=True)
    layers = [{"w": nn.Parameter(torch.randn(256, 256, device="cuda"))} for _ in range(2)]
    biases = [torch.zeros(256, device="cuda", requires_grad=True) for _ in range(3)]
    for b in biases:
        b.data.fill_(1)
    scales = Scales()
    optimizer = torch.optim.Adam([w, layers[1]["w"], scales.low] + biases)
    for _ in range(2):
        optimizer.zero_grad()
        ((w @ layers[1]["w"]) * scales.low + sum(biases)).sum().backward()
        optimizer.step()


def hand_over(net, optimizer):
    for copy, p in zip(optimizer.param_groups[0]["params"], net.parameters()):
        copy.grad, p.grad = p.grad, None


net = flattened(nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)).cuda())
optimizer = of_copies(net)
for _ in range(2):
    net(torch.randn(64, 512, device="cuda")).sum().backward()
    hand_over(net, optimizer)
    optimizer.step()
tensors_alone()
figures()
