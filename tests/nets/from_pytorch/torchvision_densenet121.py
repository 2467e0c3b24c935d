# torchvision.densenet121, written by torch2net.py from PyTorch 2.15.0.
# Lesson: where a model of your own puts its memory.
import torch
import torch.nn as nn
import torch.nn.functional as F


# torchvision.models.densenet._DenseLayer
class _DenseLayer(nn.Module):
    def __init__(self, num_features):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(num_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_features, 128, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(128)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(128, 32, 3, padding=1, bias=False)

    def forward(self, input):
        concated_features = torch.cat(input, 1)  # densenet.py:48
        bottleneck_output = self.conv1(self.relu1(self.norm1(concated_features)))  # densenet.py:49
        del concated_features
        new_features = self.conv2(self.relu2(self.norm2(bottleneck_output)))  # densenet.py:90
        return new_features


# torchvision.models.densenet._Transition
class _Transition(nn.Sequential):
    def __init__(self, num_features, out_channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(num_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_features, out_channels, 1, bias=False)
        self.pool = nn.AvgPool2d(2)


# torchvision.models.densenet._DenseBlock
class _DenseBlock(nn.ModuleDict):
    def __init__(self):
        super().__init__()
        self.denselayer1 = _DenseLayer(64)
        self.denselayer2 = _DenseLayer(96)
        self.denselayer3 = _DenseLayer(128)
        self.denselayer4 = _DenseLayer(160)
        self.denselayer5 = _DenseLayer(192)
        self.denselayer6 = _DenseLayer(224)

    def forward(self, init_features):
        new_features = self["denselayer1"]([init_features])  # densenet.py:122
        new_features_1 = self["denselayer2"]([init_features, new_features])
        new_features_2 = self["denselayer3"]([init_features, new_features, new_features_1])
        new_features_3 = self["denselayer4"]([init_features, new_features, new_features_1,
                new_features_2])
        new_features_4 = self["denselayer5"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3])
        new_features_5 = self["denselayer6"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4])
        result = torch.cat([init_features, new_features, new_features_1, new_features_2,
                new_features_3, new_features_4, new_features_5], 1)
        del new_features_4, new_features_3, new_features_2, new_features_1, new_features, new_features_5
        return result


# torchvision.models.densenet._DenseBlock
class _DenseBlock2(nn.ModuleDict):
    def __init__(self):
        super().__init__()
        self.denselayer1 = _DenseLayer(128)
        self.denselayer2 = _DenseLayer(160)
        self.denselayer3 = _DenseLayer(192)
        self.denselayer4 = _DenseLayer(224)
        self.denselayer5 = _DenseLayer(256)
        self.denselayer6 = _DenseLayer(288)
        self.denselayer7 = _DenseLayer(320)
        self.denselayer8 = _DenseLayer(352)
        self.denselayer9 = _DenseLayer(384)
        self.denselayer10 = _DenseLayer(416)
        self.denselayer11 = _DenseLayer(448)
        self.denselayer12 = _DenseLayer(480)

    def forward(self, init_features):
        new_features = self["denselayer1"]([init_features])  # densenet.py:122
        new_features_1 = self["denselayer2"]([init_features, new_features])
        new_features_2 = self["denselayer3"]([init_features, new_features, new_features_1])
        new_features_3 = self["denselayer4"]([init_features, new_features, new_features_1,
                new_features_2])
        new_features_4 = self["denselayer5"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3])
        new_features_5 = self["denselayer6"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4])
        new_features_6 = self["denselayer7"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5])
        new_features_7 = self["denselayer8"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6])
        new_features_8 = self["denselayer9"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7])
        new_features_9 = self["denselayer10"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8])
        new_features_10 = self["denselayer11"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9])
        new_features_11 = self["denselayer12"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10])
        result = torch.cat([init_features, new_features, new_features_1, new_features_2,
                new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11], 1)
        del new_features_10, new_features_9, new_features_8, new_features_7, new_features_6, new_features_5, new_features_4, new_features_3, new_features_2, new_features_1, new_features, new_features_11
        return result


# torchvision.models.densenet._DenseBlock
class _DenseBlock3(nn.ModuleDict):
    def __init__(self):
        super().__init__()
        self.denselayer1 = _DenseLayer(256)
        self.denselayer2 = _DenseLayer(288)
        self.denselayer3 = _DenseLayer(320)
        self.denselayer4 = _DenseLayer(352)
        self.denselayer5 = _DenseLayer(384)
        self.denselayer6 = _DenseLayer(416)
        self.denselayer7 = _DenseLayer(448)
        self.denselayer8 = _DenseLayer(480)
        self.denselayer9 = _DenseLayer(512)
        self.denselayer10 = _DenseLayer(544)
        self.denselayer11 = _DenseLayer(576)
        self.denselayer12 = _DenseLayer(608)
        self.denselayer13 = _DenseLayer(640)
        self.denselayer14 = _DenseLayer(672)
        self.denselayer15 = _DenseLayer(704)
        self.denselayer16 = _DenseLayer(736)
        self.denselayer17 = _DenseLayer(768)
        self.denselayer18 = _DenseLayer(800)
        self.denselayer19 = _DenseLayer(832)
        self.denselayer20 = _DenseLayer(864)
        self.denselayer21 = _DenseLayer(896)
        self.denselayer22 = _DenseLayer(928)
        self.denselayer23 = _DenseLayer(960)
        self.denselayer24 = _DenseLayer(992)

    def forward(self, init_features):
        new_features = self["denselayer1"]([init_features])  # densenet.py:122
        new_features_1 = self["denselayer2"]([init_features, new_features])
        new_features_2 = self["denselayer3"]([init_features, new_features, new_features_1])
        new_features_3 = self["denselayer4"]([init_features, new_features, new_features_1,
                new_features_2])
        new_features_4 = self["denselayer5"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3])
        new_features_5 = self["denselayer6"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4])
        new_features_6 = self["denselayer7"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5])
        new_features_7 = self["denselayer8"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6])
        new_features_8 = self["denselayer9"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7])
        new_features_9 = self["denselayer10"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8])
        new_features_10 = self["denselayer11"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9])
        new_features_11 = self["denselayer12"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10])
        new_features_12 = self["denselayer13"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11])
        new_features_13 = self["denselayer14"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12])
        new_features_14 = self["denselayer15"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13])
        new_features_15 = self["denselayer16"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14])
        new_features_16 = self["denselayer17"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14, new_features_15])
        new_features_17 = self["denselayer18"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14, new_features_15, new_features_16])
        new_features_18 = self["denselayer19"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14, new_features_15, new_features_16, new_features_17])
        new_features_19 = self["denselayer20"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14, new_features_15, new_features_16, new_features_17, new_features_18])
        new_features_20 = self["denselayer21"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14, new_features_15, new_features_16, new_features_17, new_features_18, new_features_19])
        new_features_21 = self["denselayer22"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14, new_features_15, new_features_16, new_features_17, new_features_18, new_features_19, new_features_20])
        new_features_22 = self["denselayer23"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14, new_features_15, new_features_16, new_features_17, new_features_18, new_features_19, new_features_20, new_features_21])
        new_features_23 = self["denselayer24"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14, new_features_15, new_features_16, new_features_17, new_features_18, new_features_19, new_features_20, new_features_21, new_features_22])
        result = torch.cat([init_features, new_features, new_features_1, new_features_2,
                new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14, new_features_15, new_features_16, new_features_17, new_features_18, new_features_19, new_features_20, new_features_21, new_features_22, new_features_23], 1)
        del new_features_22, new_features_21, new_features_20, new_features_19, new_features_18, new_features_17, new_features_16, new_features_15, new_features_14, new_features_13, new_features_12, new_features_11, new_features_10, new_features_9, new_features_8, new_features_7, new_features_6, new_features_5, new_features_4, new_features_3, new_features_2, new_features_1, new_features, new_features_23
        return result


# torchvision.models.densenet._DenseBlock
class _DenseBlock4(nn.ModuleDict):
    def __init__(self):
        super().__init__()
        self.denselayer1 = _DenseLayer(512)
        self.denselayer2 = _DenseLayer(544)
        self.denselayer3 = _DenseLayer(576)
        self.denselayer4 = _DenseLayer(608)
        self.denselayer5 = _DenseLayer(640)
        self.denselayer6 = _DenseLayer(672)
        self.denselayer7 = _DenseLayer(704)
        self.denselayer8 = _DenseLayer(736)
        self.denselayer9 = _DenseLayer(768)
        self.denselayer10 = _DenseLayer(800)
        self.denselayer11 = _DenseLayer(832)
        self.denselayer12 = _DenseLayer(864)
        self.denselayer13 = _DenseLayer(896)
        self.denselayer14 = _DenseLayer(928)
        self.denselayer15 = _DenseLayer(960)
        self.denselayer16 = _DenseLayer(992)

    def forward(self, init_features):
        new_features = self["denselayer1"]([init_features])  # densenet.py:122
        new_features_1 = self["denselayer2"]([init_features, new_features])
        new_features_2 = self["denselayer3"]([init_features, new_features, new_features_1])
        new_features_3 = self["denselayer4"]([init_features, new_features, new_features_1,
                new_features_2])
        new_features_4 = self["denselayer5"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3])
        new_features_5 = self["denselayer6"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4])
        new_features_6 = self["denselayer7"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5])
        new_features_7 = self["denselayer8"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6])
        new_features_8 = self["denselayer9"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7])
        new_features_9 = self["denselayer10"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8])
        new_features_10 = self["denselayer11"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9])
        new_features_11 = self["denselayer12"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10])
        new_features_12 = self["denselayer13"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11])
        new_features_13 = self["denselayer14"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12])
        new_features_14 = self["denselayer15"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13])
        new_features_15 = self["denselayer16"]([init_features, new_features, new_features_1,
                new_features_2, new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14])
        result = torch.cat([init_features, new_features, new_features_1, new_features_2,
                new_features_3, new_features_4, new_features_5, new_features_6, new_features_7, new_features_8, new_features_9, new_features_10, new_features_11, new_features_12, new_features_13, new_features_14, new_features_15], 1)
        del new_features_14, new_features_13, new_features_12, new_features_11, new_features_10, new_features_9, new_features_8, new_features_7, new_features_6, new_features_5, new_features_4, new_features_3, new_features_2, new_features_1, new_features, new_features_15
        return result


# torchvision.models.densenet.DenseNet
class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential()
        self.features.conv0 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.features.norm0 = nn.BatchNorm2d(64)
        self.features.relu0 = nn.ReLU(inplace=True)
        self.features.pool0 = nn.MaxPool2d(3, stride=2, padding=1)
        self.features.denseblock1 = _DenseBlock()
        self.features.transition1 = _Transition(256, 128)
        self.features.denseblock2 = _DenseBlock2()
        self.features.transition2 = _Transition(512, 256)
        self.features.denseblock3 = _DenseBlock3()
        self.features.transition3 = _Transition(1024, 512)
        self.features.denseblock4 = _DenseBlock4()
        self.features.norm5 = nn.BatchNorm2d(1024)
        self.classifier = nn.Linear(1024, 1000)

    def forward(self, x):
        features = self.features(x)  # densenet.py:213
        out = F.relu(features, inplace=True)  # densenet.py:214
        out = F.adaptive_avg_pool2d(out, (1, 1))  # densenet.py:215
        out = torch.flatten(out, 1)  # densenet.py:216
        out = self.classifier(out)  # densenet.py:217
        return out


def model():
    return DenseNet()


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=4)
