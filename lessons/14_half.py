# lesson: 14 Everything in half precision
# claim: model.half(): weights, gradients and activations take half of the memory.
# run before: steps=2 : float32, SGD
# run after: half=on steps=2 : model.half(), SGD
# run adam: optimizer=adam steps=2 : float32, Adam
# run adam_half: half=on optimizer=adam steps=2 : model.half(), Adam
# show parameters: category(*, parameter)
# if: warns(adam_half, eps_underflow) == 1 and warns(after, eps_underflow) == 0 and abs(saved(after) / saved(before)
#   - 0.5) < 0.02 and peak(after) < 0.52 * peak(before) and peak(adam_half) < 0.52 * peak(adam)
# verdict: true when the optimizer is not Adam
# text: The peak falls from {peak(before)} to {peak(after)}. But in half precision Adam's epsilon, 1e-8, is 0, so a
#   parameter with a zero gradient divides 0 by 0; SGD has no such term. Updates below 1/2048 of a weight are lost
#   with either. Mixed precision keeps the weights in float32 for this reason.
import torch
import torch.nn as nn


def model():
    layers = [nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(1024, 1024))


def batch(n):
    return torch.randn(n, 1024), torch.randint(0, 1024, (n,))


defaults = dict(batch=4096)
