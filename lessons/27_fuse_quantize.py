# lesson: 27 Folding batch norm, 8-bit weights
# claim: For inference fold each batch norm into the convolution before it, and store weights as int8: parameters
#   and activations shrink.
# run before: grad=no_grad : convolutions with batch norm, float32
# run after: grad=no_grad fuse=on : batch norms folded
# run int8: grad=no_grad quantize=int8 : 8-bit weights
# run both: grad=no_grad fuse=on quantize=int8 : both
# run half: grad=no_grad fuse=on half=on : folded, float16
# show of the model: after(*, setup, -1)
# show above it: peak(*) - after(*, setup, -1)
# if: after(after, setup, -1) < after(before, setup, -1) and peak(before) - peak(after) > 8 * MiB and after(int8,
#   setup, -1) < 0.3 * after(before, setup, -1) and after(both, setup, -1) < after(int8, setup, -1) and peak(int8) <
#   peak(before) and peak(both) < peak(after) and peak(half) < 0.6 * peak(after)
# verdict: true
# text: Folded, the peak falls from {peak(before)} to {peak(after)}: the output of the convolution no longer lives
#   beside that of the norm, and the norms' {after(before, setup, -1) - after(after, setup, -1) as B} are gone. With
#   8-bit weights the model takes {after(int8, setup, -1)} instead of {after(before, setup, -1)}, but every layer
#   makes a float copy of its weights while it runs, so a layer with many weights can be a new peak: {peak(both)}
#   with both. float16 halves activations, too: {peak(half)}. The form that is measured keeps weights as 8-bit
#   numbers with a scale for each channel and multiplies in float, which runs on CUDA; PyTorch's own int8 modules
#   run on CPUs only.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, channels_in, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(channels)

    def forward(self, x):
        out = self.conv(x)
        out = self.bn(out)
        return F.relu(out, inplace=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            Block(3, 64), nn.MaxPool2d(2), Block(64, 256), nn.MaxPool2d(2), Block(256, 512), Block(512, 512),
        )
        self.fc = nn.Linear(512, 1000)

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 64, 64), torch.randint(0, 1000, (n,))


defaults = dict(batch=16, steps=2)
