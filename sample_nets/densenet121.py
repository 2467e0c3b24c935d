# DenseNet-121 on 224x224 images.
# Lesson: few parameters (7,978,856) and very many activations, the opposite of VGG-16.
import torch
import torch.nn as nn

GROWTH = 32


class Layer(nn.Module):
    def __init__(self, channels_in):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels_in)
        self.relu1 = nn.ReLU()
        self.conv1 = nn.Conv2d(channels_in, 4 * GROWTH, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * GROWTH)
        self.relu2 = nn.ReLU()
        self.conv2 = nn.Conv2d(4 * GROWTH, GROWTH, 3, padding=1, bias=False)

    def forward(self, features):
        x = torch.cat(features, 1)
        x = self.conv1(self.relu1(self.norm1(x)))
        return self.conv2(self.relu2(self.norm2(x)))


class Block(nn.Module):
    def __init__(self, channels_in, count):
        super().__init__()
        self.layers = nn.ModuleList([Layer(channels_in + i * GROWTH) for i in range(count)])

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
    def __init__(self, counts):
        super().__init__()
        c = 2 * GROWTH
        self.stem = nn.Sequential(
            nn.Conv2d(3, c, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(c),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        stages = []
        for i in range(len(counts)):
            stages.append(Block(c, counts[i]))
            c = c + counts[i] * GROWTH
            if i < len(counts) - 1:
                stages.append(Transition(c, c // 2))
                c = c // 2
        self.stages = nn.Sequential(*stages)
        self.norm = nn.BatchNorm2d(c)
        self.relu = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(c, 1000)

    def forward(self, x):
        x = self.stem(x)
        x = self.stages(x)
        x = self.relu(self.norm(x))
        x = self.pool(x)
        return self.fc(torch.flatten(x, 1))


def model():
    return DenseNet([6, 12, 24, 16])


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


defaults = dict(batch=16)
