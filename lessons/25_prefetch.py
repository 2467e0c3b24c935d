# lesson: 25 Prefetching batches
# claim: Load the next batch while the GPU works, with pinned memory and non_blocking=True: it costs no memory to
#   speak of.
# run before: : each batch is loaded when it is needed
# run after: prefetch=1 : the next batch is on the device already
# run two: prefetch=2 : the next two
# show input at the peak: category(*, input)
# if: category(after, input) > category(before, input) and category(two, input) - category(after, input) ==
#   category(after, input) - category(before, input) and peak(after) - peak(before) == category(after, input) -
#   category(before, input)
# verdict: true when batches are small beside activations
# text: Each batch of depth is one more batch on the device: {category(before, input)}, {category(after, input)} and
#   {category(two, input)} of inputs at the peak, which is {peak(before)}, {peak(after)} and {peak(two)}.
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.fc(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 256, 256), torch.randint(0, 10, (n,))


defaults = dict(batch=32)
