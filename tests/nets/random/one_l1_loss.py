# l1_loss holds the difference to its end.
import torch
import torch.nn as nn
import torch.nn.functional as F
def model():
    return nn.Linear(20, 10)
def batch(n):
    return torch.randn(n, 20), torch.randint(0, 10, (n,))
def loss(o, t):
    return F.l1_loss(o, o.detach() * 0.5) + F.huber_loss(o, o.detach() * 0.5)
defaults = dict(batch=4, steps=1, grad="no_grad")
