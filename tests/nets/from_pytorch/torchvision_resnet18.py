# torchvision.resnet18, written by torch2net.py from PyTorch 2.15.0.
# Lesson: where a model of your own puts its memory.
import torch
import torch.nn as nn
import torch.nn.functional as F


# torchvision.models.resnet.BasicBlock
class BasicBlock(nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, in_channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(in_channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(in_channels, in_channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(in_channels)

    def forward(self, x):
        out = self.conv1(x)  # resnet.py:92
        out = self.bn1(out)  # resnet.py:93
        out = self.relu(out)  # resnet.py:94
        out = self.conv2(out)  # resnet.py:96
        out = self.bn2(out)  # resnet.py:97
        out += x  # resnet.py:102
        out = self.relu(out)  # resnet.py:103
        return out


# torchvision.models.resnet.BasicBlock
class BasicBlock2(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.downsample = nn.Sequential(nn.Conv2d(in_channels, out_channels, 1, stride=2,
                bias=False), nn.BatchNorm2d(out_channels))

    def forward(self, x):
        out = self.conv1(x)  # resnet.py:92
        out = self.bn1(out)  # resnet.py:93
        out = self.relu(out)  # resnet.py:94
        out = self.conv2(out)  # resnet.py:96
        out = self.bn2(out)  # resnet.py:97
        identity = self.downsample(x)  # resnet.py:100
        out += identity  # resnet.py:102
        out = self.relu(out)  # resnet.py:103
        return out


# torchvision.models.resnet.ResNet
class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = nn.Sequential(BasicBlock(64), BasicBlock(64))
        self.layer2 = nn.Sequential(BasicBlock2(64, 128), BasicBlock(128))
        self.layer3 = nn.Sequential(BasicBlock2(128, 256), BasicBlock(256))
        self.layer4 = nn.Sequential(BasicBlock2(256, 512), BasicBlock(512))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, 1000)

    def forward(self, x):
        x = self.conv1(x)  # resnet.py:268
        x = self.bn1(x)  # resnet.py:269
        x = self.relu(x)  # resnet.py:270
        x = self.maxpool(x)  # resnet.py:271
        x = self.layer1(x)  # resnet.py:273
        x = self.layer2(x)  # resnet.py:274
        x = self.layer3(x)  # resnet.py:275
        x = self.layer4(x)  # resnet.py:276
        x = self.avgpool(x)  # resnet.py:278
        x = torch.flatten(x, 1)  # resnet.py:279
        x = self.fc(x)  # resnet.py:280
        return x


def model():
    return ResNet()


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=4)
