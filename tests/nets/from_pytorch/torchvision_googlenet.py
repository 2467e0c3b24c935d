# torchvision.googlenet, written by torch2net.py from PyTorch 2.15.0.
# Lesson: where a model of your own puts its memory.
import torch
import torch.nn as nn
import torch.nn.functional as F


# torchvision.models.googlenet.BasicConv2d
class BasicConv2d(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride,
                padding=padding, bias=False)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x):
        x = self.conv(x)  # googlenet.py:273
        x = self.bn(x)  # googlenet.py:274
        return F.relu(x, inplace=True)


# torchvision.models.googlenet.Inception
class Inception(nn.Module):
    def __init__(self, in_channels, out_channels, branch2_0_out_channels, branch2_1_out_channels,
            branch3_0_out_channels, branch3_1_out_channels, branch4_1_out_channels):
        super().__init__()
        self.branch1 = BasicConv2d(in_channels, out_channels, 1, 1, 0)
        self.branch2 = nn.Sequential(BasicConv2d(in_channels, branch2_0_out_channels, 1, 1, 0),
                BasicConv2d(branch2_0_out_channels, branch2_1_out_channels, 3, 1, 1))
        self.branch3 = nn.Sequential(BasicConv2d(in_channels, branch3_0_out_channels, 1, 1, 0),
                BasicConv2d(branch3_0_out_channels, branch3_1_out_channels, 3, 1, 1))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1, ceil_mode=True),
                BasicConv2d(in_channels, branch4_1_out_channels, 1, 1, 0))

    def forward(self, x):
        branch1 = self.branch1(x)  # googlenet.py:218
        branch2 = self.branch2(x)  # googlenet.py:219
        branch3 = self.branch3(x)  # googlenet.py:220
        branch4 = self.branch4(x)  # googlenet.py:221
        result = torch.cat([branch1, branch2, branch3, branch4], 1)
        del branch4, branch3, branch2, branch1
        return result


# torchvision.models.googlenet.InceptionAux
class InceptionAux(nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.conv = BasicConv2d(in_channels, 128, 1, 1, 0)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, 1000)
        self.dropout = nn.Dropout(p=0.7)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(x, (4, 4))  # googlenet.py:250
        x = self.conv(x)  # googlenet.py:252
        x = torch.flatten(x, 1)  # googlenet.py:254
        x = F.relu(self.fc1(x), inplace=True)  # googlenet.py:256
        x = self.dropout(x)  # googlenet.py:258
        x = self.fc2(x)  # googlenet.py:260
        return x


# torchvision.models.googlenet.GoogLeNet
class GoogLeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = BasicConv2d(3, 64, 7, 2, 3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = BasicConv2d(64, 64, 1, 1, 0)
        self.conv3 = BasicConv2d(64, 192, 3, 1, 1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception3a = Inception(192, 64, 96, 128, 16, 32, 32)
        self.inception3b = Inception(256, 128, 128, 192, 32, 96, 64)
        self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.inception4a = Inception(480, 192, 96, 208, 16, 48, 64)
        self.inception4b = Inception(512, 160, 112, 224, 24, 64, 64)
        self.inception4c = Inception(512, 128, 128, 256, 24, 64, 64)
        self.inception4d = Inception(512, 112, 144, 288, 32, 64, 64)
        self.inception4e = Inception(528, 256, 160, 320, 32, 128, 128)
        self.maxpool4 = nn.MaxPool2d(2, ceil_mode=True)
        self.inception5a = Inception(832, 256, 160, 320, 32, 128, 128)
        self.inception5b = Inception(832, 384, 192, 384, 48, 128, 128)
        self.aux1 = InceptionAux(512)
        self.aux2 = InceptionAux(528)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.dropout = nn.Dropout(p=0.2)
        self.fc = nn.Linear(1024, 1000)

    def forward(self, x):
        if self.training:
            x = self.conv1(x)  # googlenet.py:112
            x = self.maxpool1(x)  # googlenet.py:114
            x = self.conv2(x)  # googlenet.py:116
            x = self.conv3(x)  # googlenet.py:118
            x = self.maxpool2(x)  # googlenet.py:120
            x = self.inception3a(x)  # googlenet.py:123
            x = self.inception3b(x)  # googlenet.py:125
            x = self.maxpool3(x)  # googlenet.py:127
            x = self.inception4a(x)  # googlenet.py:129
            aux1 = self.aux1(x)  # googlenet.py:134
            x = self.inception4b(x)  # googlenet.py:136
            x = self.inception4c(x)  # googlenet.py:138
            x = self.inception4d(x)  # googlenet.py:140
            aux2 = self.aux2(x)  # googlenet.py:145
            x = self.inception4e(x)  # googlenet.py:147
            x = self.maxpool4(x)  # googlenet.py:149
            x = self.inception5a(x)  # googlenet.py:151
            x = self.inception5b(x)  # googlenet.py:153
            x = self.avgpool(x)  # googlenet.py:156
            x = torch.flatten(x, 1)  # googlenet.py:158
            x = self.dropout(x)  # googlenet.py:160
            x = self.fc(x)  # googlenet.py:161
            return (x, aux2, aux1)
        x = self.conv1(x)  # googlenet.py:112
        x = self.maxpool1(x)  # googlenet.py:114
        x = self.conv2(x)  # googlenet.py:116
        x = self.conv3(x)  # googlenet.py:118
        x = self.maxpool2(x)  # googlenet.py:120
        x = self.inception3a(x)  # googlenet.py:123
        x = self.inception3b(x)  # googlenet.py:125
        x = self.maxpool3(x)  # googlenet.py:127
        x = self.inception4a(x)  # googlenet.py:129
        x = self.inception4b(x)  # googlenet.py:136
        x = self.inception4c(x)  # googlenet.py:138
        x = self.inception4d(x)  # googlenet.py:140
        x = self.inception4e(x)  # googlenet.py:147
        x = self.maxpool4(x)  # googlenet.py:149
        x = self.inception5a(x)  # googlenet.py:151
        x = self.inception5b(x)  # googlenet.py:153
        x = self.avgpool(x)  # googlenet.py:156
        x = torch.flatten(x, 1)  # googlenet.py:158
        x = self.dropout(x)  # googlenet.py:160
        x = self.fc(x)  # googlenet.py:161
        return x


def model():
    return GoogLeNet()


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


def loss(output, target):
    total = F.cross_entropy(output[0], target)  # from_pytorch.py:51
    total = total + F.cross_entropy(output[1], target) * 0.3  # from_pytorch.py:53
    total = total + F.cross_entropy(output[2], target) * 0.3
    return total


defaults = dict(batch=4)
