# lesson: 15 Training in two stages
# claim: Split the network: train the front with a small head of its own, then the back on the front's detached
#   output. Only one half's activations are alive at a time.
# run before: : trained as a whole
# run after: STAGES=True : front, then back
# run deep: DEPTH=8 : twice as deep, as a whole
# run deep_stages: STAGES=True DEPTH=8 : twice as deep, in two stages
# if: peak(after) < 0.7 * peak(before) and peak(deep_stages) < 0.65 * peak(deep) and flops(after) < 1.05 *
#   flops(before)
# verdict: true when the halves may be trained apart
# text: The peak falls from {peak(before)} to {peak(after)}, and with twice as many layers from {peak(deep)} to
#   {peak(deep_stages)}, nearer to half, because what both halves share (the batch and the output of the front)
#   weighs less. The arithmetic changes by {flops(after) / flops(before) as change}: no gradient of the front's
#   output is needed. It is another training: the front learns from its own head, not from the back.
import torch
import torch.nn as nn
import torch.nn.functional as F

STAGES = False
DEPTH = 4


def layers(channels_in, channels):
    found = []
    for i in range(DEPTH):
        found.append(nn.Conv2d(channels_in if i == 0 else channels, channels, 3, padding=1))
        found.append(nn.BatchNorm2d(channels))
        found.append(nn.ReLU())
    return nn.Sequential(*found)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = layers(3, 32)
        if STAGES:
            self.head = nn.Linear(32, 10)
        self.back = layers(32, 32)
        self.fc = nn.Linear(32, 10)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 64, 64), torch.randint(0, 10, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    optimizer.zero_grad()
    features = model.front(inputs)
    if STAGES:
        loss = F.cross_entropy(model.head(features.mean((2, 3))), targets)
        loss.backward()
        features = features.detach()
    features = model.back(features)
    loss = F.cross_entropy(model.fc(features.mean((2, 3))), targets)
    del features
    loss.backward()
    optimizer.step()
    return loss


defaults = dict(batch=16, steps=2)
