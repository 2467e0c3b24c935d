# lesson: 21 Another optimizer
# claim: Adam keeps two more numbers for each parameter. Train with SGD where memory is short.
# run before: optimizer=adam : Adam
# run after: optimizer=sgd : SGD
# run momentum: optimizer=momentum : SGD(momentum=0.9)
# run for_each: optimizer=adam foreach=off : Adam(foreach=False)
# show state / parameters: category(*, optimizer) / category(*, parameter) as x
# show highest in the optimizer: top(*, optimizer, 2)
# known momentum keeps 1, Adam 2 times the parameters: floor(category(momentum, optimizer) / category(momentum,
#   parameter) * 100 + 0.5) == 100 and floor(category(before, optimizer) / category(before, parameter) * 100 + 0.5)
#   == 200
# if: peak(after) < peak(momentum) and peak(momentum) < peak(for_each) and peak(for_each) < peak(before)
# verdict: true
# text: The peak is {peak(before)} with Adam, {peak(momentum)} with momentum and {peak(after)} with SGD. Of Adam's
#   {peak(before) - peak(for_each)} are temporary: the multi-tensor path computes all updates at once. foreach=False
#   does it parameter by parameter, with the same result and {peak(for_each)} at the peak.
import torch
import torch.nn as nn


def model():
    layers = []
    for i in range(8):
        layers.append(nn.Linear(1024, 1024))
        layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def batch(n):
    return torch.randn(n, 1024), torch.randint(0, 1024, (n,))


defaults = dict(batch=64)
