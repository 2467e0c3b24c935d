# ResNet-152 as pytorch-memonger trains it, the third net of lesson 7.
# Lesson: each of the four Sequentials is cut into as many parts as the square root of its length, and the last part is
# a checkpoint, too; checkpoint_sequential leaves that one out.
import math

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Bottleneck(nn.Module):
    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(channels, channels * 4, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(channels * 4)
        self.relu = nn.ReLU()
        self.downsample = None
        if stride != 1 or channels_in != channels * 4:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels_in, channels * 4, 1, stride=stride, bias=False),
                nn.BatchNorm2d(channels * 4),
            )

    def forward(self, x):
        identity = x
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        out = self.relu(out)
        out = self.conv3(out)
        out = self.bn3(out)
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        out = self.relu(out)
        return out


class SublinearSequential(nn.Sequential):
    def forward(self, x):
        count = len(self)
        parts = int(math.sqrt(count))
        size = count // parts
        for i in range(parts):
            end = count if i == parts - 1 else (i + 1) * size
            x = checkpoint(self[i * size:end].forward_plain, x, use_reentrant=False)
        return x

    def forward_plain(self, x):
        for block in self:
            x = block(x)
        return x


def stage(channels_in, channels, count, stride):
    blocks = [Bottleneck(channels_in, channels, stride)]
    for i in range(1, count):
        blocks.append(Bottleneck(channels * 4, channels, 1))
    return SublinearSequential(*blocks)


class ResNet(nn.Module):
    def __init__(self, counts):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = stage(64, 64, counts[0], 1)
        self.layer2 = stage(64 * 4, 128, counts[1], 2)
        self.layer3 = stage(128 * 4, 256, counts[2], 2)
        self.layer4 = stage(256 * 4, 512, counts[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * 4, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.layer4(x)
        x = self.avgpool(x)
        return self.fc(torch.flatten(x, 1))


def model():
    return ResNet([3, 8, 36, 3])


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


defaults = dict(batch=16)
