# lesson: 1 Activations in place
# claim: Give activations inplace=True, write F.relu_(x) and y += x: each then overwrites its input instead of
#   allocating its output, so a network with many of them needs much less memory.
# run before: : ReLU after convolution and batch norm
# run after: IN_PLACE=True : nn.ReLU(inplace=True)
# run bare: NORM=False : without batch norm
# run bare_in_place: NORM=False IN_PLACE=True : without batch norm, in place
# run no_grad: NORM=False SKIP=True grad=no_grad : y = block(x) + x and F.relu(y), under no_grad
# run no_grad_in_place: NORM=False SKIP=True IN_PLACE=True grad=no_grad : y += x and F.relu_(y), under no_grad
# show highest in forward: top(*, forward, 1)
# if: saved(after) == saved(before) and saved(bare_in_place) == saved(bare) and peak(after) == peak(before) and
#   top(after, forward, 1) < top(before, forward, 1) and peak(no_grad_in_place) < peak(no_grad)
# verdict: true when the peak is in the forward, and then by one tensor
# text: What autograd keeps is {saved(before)} with and without it: batch norm keeps its input and ReLU its output,
#   and the tensor in between is freed either way. In place one transient of {top(before, forward, 1) - top(after,
#   forward, 1)} disappears from the forward, however many layers there are. The peak of training is in backward and
#   stays at {peak(after)}. Under no_grad, where x is alive beside y and their sum, the peak falls from
#   {peak(no_grad)} to {peak(no_grad_in_place)}.
import torch
import torch.nn as nn
import torch.nn.functional as F

IN_PLACE = False
NORM = True
SKIP = False


class Block(nn.Module):
    def __init__(self, channels_in, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels) if NORM else nn.Identity()
        self.relu = nn.ReLU(inplace=IN_PLACE)

    def forward(self, x):
        y = self.norm(self.conv(x))
        if not SKIP or x.shape != y.shape:
            return self.relu(y)
        if IN_PLACE:
            y += x
            return F.relu_(y)
        y = y + x
        return F.relu(y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(Block(3, 16), Block(16, 16), Block(16, 16), Block(16, 16))
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = self.features(x)
        return self.fc(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 128, 128), torch.randint(0, 10, (n,))


defaults = dict(batch=16, steps=2)
