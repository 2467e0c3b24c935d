# lesson: 6 Activation checkpointing
# claim: checkpoint_sequential(model, segments, x) keeps only the inputs of the segments and runs each again in
#   backward: much less memory for one more forward.
# run before: : 64 layers
# run after: SEGMENTS=8 : in 8 segments
# run two: SEGMENTS=2 : in 2 segments
# run one: SEGMENTS=1 : in 1 segment
# run all: SEGMENTS=64 : a segment for each layer
# if: warns(one, one_segment) == 1 and warns(two, one_segment) == 0 and peak(one) == peak(before) and
#   recomputed(one) == 0 and peak(after) < 0.5 * peak(before) and peak(after) < peak(two) and peak(after) <
#   peak(all) and recomputed(after) < flops(before) / 3
# verdict: true when there is more than one segment
# text: Eight segments need {peak(after)} instead of {peak(before)} for {recomputed(after) / flops(before) as %}
#   more arithmetic, less than one forward: the last segment is never checkpointed. For the same reason segments=1
#   changes nothing ({peak(one)}). More is not always less: two segments need {peak(two)}, sixty-four {peak(all)},
#   because then all inputs of layers are kept.
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint_sequential

SEGMENTS = 0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for i in range(64):
            layers.append(nn.Sequential(nn.Linear(256, 256), nn.Tanh()))
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        if SEGMENTS == 0:
            return self.layers(x)
        return checkpoint_sequential(self.layers, SEGMENTS, x, use_reentrant=False)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 256), torch.randint(0, 256, (n,))


defaults = dict(batch=2048, steps=2)
