# lesson: 5 Gradient accumulation
# claim: Split a batch in two, run forward and backward on each half, and step the optimizer once: the same
#   gradients with half of the memory.
# run before: : one batch of 32
# run after: PARTS=2 : two halves of 16, one step
# run four: PARTS=4 : four parts of 8
# run small: batch=16 : a batch of 16, a step for each
# run toggle: sample_nets/resnet18.py batch=32 accumulate=2 : ResNet-18 with the toggle accumulate
# run whole: sample_nets/resnet18.py batch=32 : ResNet-18, one batch of 32
# show gradients at the peak: category(*, gradient)
# if: abs(2 * saved(after) - saved(before)) < 0.01 * saved(before) and warns(toggle, accumulate_batch_norm) == 1 and
#   peak(after) > 0.5 * peak(before) and peak(after) > peak(small) and peak(after) < 0.7 * peak(before) and
#   peak(four) < peak(after) and category(toggle, gradient) > category(whole, gradient)
# verdict: true when gradients are small beside activations
# text: What autograd keeps is that of half a batch, {saved(after)} instead of {saved(before)}, but the gradients of
#   the first half stay resident while the second runs, and the whole batch is on the device: the peak is
#   {peak(after)} instead of {peak(before)}, more than half, and {peak(after) - peak(small)} more than that of a
#   plain batch of 16. The gradients are the same only where no layer mixes samples: BatchNorm sees 16 images
#   instead of 32, and its running statistics are updated twice. ResNet-18 falls from {peak(whole)} to
#   {peak(toggle)}.
import torch
import torch.nn as nn
import torch.nn.functional as F

PARTS = 1


def block(channels_in, channels):
    return nn.Sequential(nn.Conv2d(channels_in, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(3, 64), nn.MaxPool2d(4), block(64, 512), nn.MaxPool2d(4), block(512, 512))
        self.fc = nn.Linear(512, 1000)

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 64, 64), torch.randint(0, 1000, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    optimizer.zero_grad()
    for x, target in zip(inputs.chunk(PARTS), targets.chunk(PARTS)):
        loss = F.cross_entropy(model(x), target) / PARTS
        loss.backward()
    optimizer.step()
    return loss


defaults = dict(batch=32, steps=2)
