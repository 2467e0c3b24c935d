# ResNet-1001 on 32x32 images: 333 pre-activation bottleneck blocks, a net of a thousand layers.
# Lesson: a chain this long keeps gigabytes for 10 M parameters; checkpoint=sqrt keeps a tenth of it for one more
# forward, and checkpoint=auto:SIZE the same with less to run again.
import torch
import torch.nn as nn
import torch.nn.functional as F

BLOCKS = 111


class Block(nn.Module):
    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(channels_in)
        self.relu1 = nn.ReLU()
        self.conv1 = nn.Conv2d(channels_in, channels, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu2 = nn.ReLU()
        self.conv2 = nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(channels)
        self.relu3 = nn.ReLU()
        self.conv3 = nn.Conv2d(channels, channels * 4, 1, bias=False)
        self.shortcut = None
        if stride != 1 or channels_in != channels * 4:
            self.shortcut = nn.Conv2d(channels_in, channels * 4, 1, stride=stride, bias=False)

    def forward(self, x):
        identity = x if self.shortcut is None else self.shortcut(x)
        out = self.conv1(self.relu1(self.bn1(x)))
        out = self.conv2(self.relu2(self.bn2(out)))
        out = self.conv3(self.relu3(self.bn3(out)))
        return out + identity


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        blocks = []
        channels_in = 16
        for channels in [16, 32, 64]:
            for i in range(BLOCKS):
                blocks.append(Block(channels_in, channels, 2 if i == 0 and channels > 16 else 1))
                channels_in = channels * 4
        self.blocks = nn.Sequential(*blocks)
        self.bn = nn.BatchNorm2d(channels_in)
        self.relu = nn.ReLU()
        self.fc = nn.Linear(channels_in, 10)

    def forward(self, x):
        x = self.blocks(self.conv(x))
        x = self.relu(self.bn(x))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def model():
    return ResNet()


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))


defaults = dict(batch=32, optimizer="momentum", lr=0.1)
