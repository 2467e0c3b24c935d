# lesson: 20 Downsampling early
# claim: Make the image small in the first layers, by a stride or a pooling: activations shrink with the square of
#   the side.
# run before: steps=2 : all convolutions at 128 x 128, pooled at the end
# run after: STRIDE=2 steps=2 : stride 2 in the first convolution
# run four: STRIDE=4 steps=2 : stride 4
# show saved, of the first: saved(*) / saved(before) as %
# if: abs(saved(after) / saved(before) - 1 / 4) < 0.01 and abs(saved(four) / saved(before) - 1 / 16) < 0.01
# verdict: true
# text: A stride of 2 leaves {saved(after) / saved(before) as %} of what autograd keeps, one of 4 {saved(four) /
#   saved(before) as %}. The peak falls from {peak(before)} to {peak(after)} and {peak(four)}. What the network sees
#   of the image is another matter.
import torch
import torch.nn as nn

STRIDE = 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, stride=STRIDE, padding=1)
        self.conv2 = nn.Conv2d(32, 32, 3, padding=1)
        self.conv3 = nn.Conv2d(32, 32, 3, padding=1)
        self.conv4 = nn.Conv2d(32, 32, 3, padding=1)
        self.relu = nn.ReLU()
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        x = self.relu(self.conv4(x))
        return self.fc(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 128, 128), torch.randint(0, 10, (n,))


defaults = dict(batch=16)
