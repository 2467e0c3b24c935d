# DenseNet-BC-100 (k = 12) whose join, norm, ReLU and 1x1 convolution are computed again in
# backward. Lesson: what is kept is the list of features and one narrow tensor a layer; the
# joined copies exist only while a layer runs.
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

GROWTH = 12
LAYERS = 16


class Layer(nn.Module):
    def __init__(self, channels_in):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels_in)
        self.relu1 = nn.ReLU()
        self.conv1 = nn.Conv2d(channels_in, 4 * GROWTH, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * GROWTH)
        self.relu2 = nn.ReLU()
        self.conv2 = nn.Conv2d(4 * GROWTH, GROWTH, 3, padding=1, bias=False)

    def bottleneck(self, *features):
        return self.conv1(self.relu1(self.norm1(torch.cat(features, 1))))

    def forward(self, features):
        x = checkpoint(self.bottleneck, *features, use_reentrant=False)
        return self.conv2(self.relu2(self.norm2(x)))


class Block(nn.Module):
    def __init__(self, channels_in):
        super().__init__()
        self.layers = nn.ModuleList([Layer(channels_in + i * GROWTH) for i in range(LAYERS)])

    def forward(self, x):
        features = [x]
        for layer in self.layers:
            features = features + [layer(features)]
        return torch.cat(features, 1)


class Transition(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels_in)
        self.relu = nn.ReLU()
        self.conv = nn.Conv2d(channels_in, channels_out, 1, bias=False)
        self.pool = nn.AvgPool2d(2)

    def forward(self, x):
        return self.pool(self.conv(self.relu(self.norm(x))))


class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        c = 2 * GROWTH
        self.conv = nn.Conv2d(3, c, 3, padding=1, bias=False)
        stages = []
        for i in range(3):
            stages.append(Block(c))
            c = c + LAYERS * GROWTH
            if i < 2:
                stages.append(Transition(c, c // 2))
                c = c // 2
        self.stages = nn.Sequential(*stages)
        self.norm = nn.BatchNorm2d(c)
        self.relu = nn.ReLU()
        self.pool = nn.AvgPool2d(8)
        self.fc = nn.Linear(c, 10)

    def forward(self, x):
        x = self.conv(x)
        x = self.stages(x)
        x = self.relu(self.norm(x))
        x = self.pool(x)
        return self.fc(x.flatten(1))


def model():
    return DenseNet()


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))


defaults = dict(batch=64)
