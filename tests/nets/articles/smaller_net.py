# A smaller network: a VGG of a configuration list, weights set in a loop over modules(), and a head without large
# fully connected layers.
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

cfg = {
    "A": [8, "M", 16, "M", 32, 32, "M"],
    "D": [8, 8, "M", 16, 16, "M", 32, 32, 32, "M"],
}


class VGG(nn.Module):
    def __init__(self, features, num_classes=10, init_weights=True):
        super(VGG, self).__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((2, 2))
        self.classifier = nn.Sequential(
            nn.Linear(32 * 2 * 2, 64),
            nn.ReLU(True),
            nn.Dropout(),
            nn.Linear(64, 64),
            nn.ReLU(True),
            nn.Dropout(),
            nn.Linear(64, num_classes),
        )
        if init_weights:
            self._initialize_weights()

    def forward(self, x):
        x = self.features(x)
        x = self.avgpool(x)
        x = x.view(x.size(0), -1)
        x = self.classifier(x)
        return x

    def _initialize_weights(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                n = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                m.weight.data.normal_(0, math.sqrt(2. / n))
                if m.bias is not None:
                    m.bias.data.zero_()
            elif isinstance(m, nn.BatchNorm2d):
                m.weight.data.fill_(1)
                m.bias.data.zero_()
            elif isinstance(m, nn.Linear):
                m.weight.data.normal_(0, 0.01)
                m.bias.data.zero_()


def make_layers(cfg, batch_norm=False):
    layers = []
    in_channels = 3
    for v in cfg:
        if v == "M":
            layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
        else:
            conv2d = nn.Conv2d(in_channels, v, kernel_size=3, padding=1)
            if batch_norm:
                layers += [conv2d, nn.BatchNorm2d(v), nn.ReLU(inplace=True)]
            else:
                layers += [conv2d, nn.ReLU(inplace=True)]
            in_channels = v
    return nn.Sequential(*layers)


def vgg16(pretrained=False, **kwargs):
    if pretrained:
        kwargs["init_weights"] = False
    return VGG(make_layers(cfg["D"]), **kwargs)


class Small(nn.Module):
    def __init__(self):
        super(Small, self).__init__()
        self.features = make_layers(cfg["A"], batch_norm=True)
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.squeeze = nn.Conv2d(32, 10, kernel_size=1)

    def forward(self, x):
        x = self.gap(self.squeeze(self.features(x)))
        return x.squeeze(-1).squeeze(-1)


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.large = vgg16(num_classes=10)
        self.small = Small()

    def forward(self, x):
        return self.large(x) + self.small(x)


def count_parameters(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def model_size(model, type_size=4):
    para = sum([np for np in [p.numel() for p in model.parameters()]])
    print("Model {} : params: {:4f}M".format(model._get_name(), para * type_size / 1000 / 1000))


def model():
    net = Both()
    print(f"parameters: {count_parameters(net.large):,} {count_parameters(net.small):,}")
    model_size(net)
    return net


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))
