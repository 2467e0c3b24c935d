# U-Net on 256x256 images: skips from each level of the way down to the way up.
# Lesson: a skip keeps a large early tensor alive until the very end of the forward, and its
# gradient comes back as a slice of a joined one.
import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, channels_in, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.relu2 = nn.ReLU()

    def forward(self, x):
        x = self.relu1(self.norm1(self.conv1(x)))
        return self.relu2(self.norm2(self.conv2(x)))


class UNet(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        sizes = [width, width * 2, width * 4, width * 8, width * 16]
        self.pool = nn.MaxPool2d(2)
        self.down = nn.ModuleList()
        channels_in = 3
        for c in sizes:
            self.down.append(DoubleConv(channels_in, c))
            channels_in = c
        self.up = nn.ModuleList()
        self.merge = nn.ModuleList()
        for c in reversed(sizes[:-1]):
            self.up.append(nn.ConvTranspose2d(2 * c, c, 2, stride=2))
            self.merge.append(DoubleConv(2 * c, c))
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.down):
            if i > 0:
                x = self.pool(x)
            x = block(x)
            skips.append(x)
        for i in range(len(self.up)):
            x = self.up[i](x)
            x = torch.cat([skips[-2 - i], x], 1)
            x = self.merge[i](x)
        return self.head(x)


def model():
    return UNet(64, 2)


def batch(n):
    return torch.randn(n, 3, 256, 256), torch.randint(0, 2, (n, 256, 256))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=4)
