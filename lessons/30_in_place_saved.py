# lesson: 30 In place where the old value is needed
# claim: Every activation can work in place.
# run before: ACT="sigmoid" : a sigmoid before each activation
# run after: ACT="sigmoid" inplace=on : the toggle inplace, which asks for each activation whether PyTorch allows it
# run conv: ACT="conv" : convolutions alone before the activations
# run conv_in_place: ACT="conv" inplace=on : the toggle inplace
# show activations left as they are: refused(*) as count
# if: refused(after) == 2 and refused(conv_in_place) == 0 and peak(after) == peak(before) and top(conv_in_place,
#   forward, 1) < top(conv, forward, 1)
# verdict: true when nothing needs the value that is overwritten
# text: A sigmoid's gradient is computed from its output, so autograd keeps that output, and a ReLU that overwrites
#   it makes backward fail with "modified by an inplace operation". The toggle leaves {refused(after) as count}
#   activations alone and says which op needs the value; behind a convolution, whose output nobody needs, all work
#   in place, and the forward needs {top(conv_in_place, forward, 1)} instead of {top(conv, forward, 1)}.
import torch
import torch.nn as nn

ACT = "conv"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.act1 = nn.ReLU()
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.act2 = nn.ReLU()
        self.fc = nn.Linear(16, 10)

    def gate(self, x):
        return torch.sigmoid(x) if ACT == "sigmoid" else x

    def forward(self, x):
        x = self.act1(self.gate(self.conv1(x)))
        x = self.act2(self.gate(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 128, 128), torch.randint(0, 10, (n,))


defaults = dict(batch=16, steps=2)
