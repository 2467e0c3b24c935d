# lesson: 12 Deleting loss and output
# claim: End each step with del loss, output: otherwise both live until the next step binds the names again.
# run before: : output and loss live through the next forward
# run after: WHEN="end" : del loss, output at the end of the step
# run early: WHEN="early" : del output as soon as the loss exists
# if: peak(after) == peak(before) and peak(early) < 0.8 * peak(before)
# verdict: true when it is done before backward
# text: Logits of {8 * 128 * 50257 * 4} are on the device while the next forward runs, and deleting them at the end
#   of the step frees them for that time. But the peak is in backward, where the logits of this step are still
#   there: {peak(before)} with and without it. The loss does not need them, as cross entropy saves its own copy, the
#   logarithms: deleted before backward, the peak is {peak(early)}.
import torch
import torch.nn as nn
import torch.nn.functional as F

WHEN = "never"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50257, 64)
        self.head = nn.Linear(64, 50257)

    def forward(self, x):
        return self.head(self.embed(x))


class Last:
    def __init__(self):
        self.output = None
        self.loss = None


last = Last()


def model():
    return Net()


def batch(n):
    return torch.randint(0, 50257, (n, 128)), torch.randint(0, 50257, (n, 128))


def train_step(model, optimizer, scaler, inputs, targets):
    output = model(inputs)
    last.output = output
    loss = F.cross_entropy(output.flatten(0, 1), targets.flatten())
    last.loss = loss
    if WHEN == "early":
        last.output = None
        del output
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if WHEN != "never":
        last.output = None
        last.loss = None
    return None


defaults = dict(batch=8)
