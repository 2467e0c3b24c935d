# lesson: 13 Mixed precision
# claim: Run the forward under autocast: activations take two bytes instead of four, so memory halves.
# run before: steps=2 : five convolutions, float32
# run after: amp=fp16 steps=2 : amp=fp16
# run bmm: lessons/bmm_expanded.py : bmm of an expanded buffer, float32
# run bmm_amp: lessons/bmm_expanded.py AMP=True : the same under autocast
# known bmm, after the forward, in float32 180,702,208 B: printed(bmm, "after forward") == 180702208
# known bmm, after the forward, under autocast 5,508,148,224 B: printed(bmm_amp, "after forward") == 5508148224
# if: warns(bmm_amp, cast_grows) == 1 and warns(after, cast_grows) == 0 and saved(after) < 0.6 * saved(before) and
#   printed(bmm_amp, "after forward") > 20 * printed(bmm, "after forward")
# verdict: true when activations are most of the memory and nothing large is cast
# text: Autograd keeps {saved(after)} instead of {saved(before)}; the peak falls from {peak(before)} to
#   {peak(after)}, by less than half, because parameters and their gradients stay in float32 and are cast to copies.
#   It can cost memory: bmm(basis.expand(1024, ...), x) needs {printed(bmm, "after forward") as B} after the
#   forward, and under autocast {printed(bmm_amp, "after forward") as B}, because the cast copies the expanded
#   tensor in full.
import torch
import torch.nn as nn


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for i in range(5):
            layers.append(nn.Conv2d(3 if i == 0 else 64, 64, 3, padding=1))
            layers.append(nn.ReLU())
        self.layers = nn.Sequential(*layers)
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        return self.fc(self.layers(x).mean((2, 3)))


def model():
    return Conv()


def batch(n):
    return torch.randn(n, 3, 128, 128), torch.randint(0, 10, (n,))


defaults = dict(batch=16)
