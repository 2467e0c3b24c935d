# torchvision.mobilenet_v3_small, written by torch2net.py from PyTorch 2.15.0.
# Lesson: where a model of your own puts its memory.
import torch
import torch.nn as nn
import torch.nn.functional as F


# torchvision.ops.misc.Conv2dNormActivation
class Conv2dNormActivation(nn.Sequential):
    def __init__(self, in_channels, n0_out_channels, kernel_size, stride, padding, groups):
        super().__init__(nn.Conv2d(in_channels, n0_out_channels, kernel_size, stride=stride,
                padding=padding, groups=groups, bias=False), nn.BatchNorm2d(n0_out_channels, eps=0.001, momentum=0.01), nn.Hardswish(inplace=True))


# torchvision.ops.misc.Conv2dNormActivation
class Conv2dNormActivation2(nn.Sequential):
    def __init__(self, in_channels, n0_out_channels, kernel_size, stride, padding, groups):
        super().__init__(nn.Conv2d(in_channels, n0_out_channels, kernel_size, stride=stride,
                padding=padding, groups=groups, bias=False), nn.BatchNorm2d(n0_out_channels, eps=0.001, momentum=0.01), nn.ReLU(inplace=True))


# torchvision.ops.misc.SqueezeExcitation
class SqueezeExcitation(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(in_channels, out_channels, 1)
        self.fc2 = nn.Conv2d(out_channels, in_channels, 1)
        self.activation = nn.ReLU()
        self.scale_activation = nn.Hardsigmoid()

    def forward(self, input):
        scale = self.avgpool(input)  # misc.py:253
        scale = self.fc1(scale)  # misc.py:254
        scale = self.activation(scale)  # misc.py:255
        scale = self.fc2(scale)  # misc.py:256
        scale_activation = self.scale_activation(scale)  # misc.py:257
        del scale
        return scale_activation * input


# torchvision.ops.misc.Conv2dNormActivation
class Conv2dNormActivation3(nn.Sequential):
    def __init__(self, in_channels, n0_out_channels):
        super().__init__(nn.Conv2d(in_channels, n0_out_channels, 1, bias=False),
                nn.BatchNorm2d(n0_out_channels, eps=0.001, momentum=0.01))


# torchvision.models.mobilenetv3.InvertedResidual
class InvertedResidual(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(Conv2dNormActivation2(16, 16, 3, 2, 1, 16),
                SqueezeExcitation(16, 8), Conv2dNormActivation3(16, 16))

    def forward(self, input):
        result = self.block(input)  # mobilenetv3.py:112
        return result


# torchvision.models.mobilenetv3.InvertedResidual
class InvertedResidual2(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(Conv2dNormActivation2(16, 72, 1, 1, 0, 1),
                Conv2dNormActivation2(72, 72, 3, 2, 1, 72), Conv2dNormActivation3(72, 24))

    def forward(self, input):
        result = self.block(input)  # mobilenetv3.py:112
        return result


# torchvision.models.mobilenetv3.InvertedResidual
class InvertedResidual3(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(Conv2dNormActivation2(24, 88, 1, 1, 0, 1),
                Conv2dNormActivation2(88, 88, 3, 1, 1, 88), Conv2dNormActivation3(88, 24))

    def forward(self, input):
        result = self.block(input)  # mobilenetv3.py:112
        result += input  # mobilenetv3.py:114
        return result


# torchvision.models.mobilenetv3.InvertedResidual
class InvertedResidual4(nn.Module):
    def __init__(self, in_channels, n0_out_channels, stride, block_2_out_channels,
            block_3_n0_out_channels):
        super().__init__()
        self.block = nn.Sequential(Conv2dNormActivation(in_channels, n0_out_channels, 1, 1, 0, 1),
                Conv2dNormActivation(n0_out_channels, n0_out_channels, 5, stride, 2,
                n0_out_channels), SqueezeExcitation(n0_out_channels, block_2_out_channels), Conv2dNormActivation3(n0_out_channels, block_3_n0_out_channels))

    def forward(self, input):
        result = self.block(input)  # mobilenetv3.py:112
        return result


# torchvision.models.mobilenetv3.InvertedResidual
class InvertedResidual5(nn.Module):
    def __init__(self, in_channels, n0_out_channels, block_2_out_channels):
        super().__init__()
        self.block = nn.Sequential(Conv2dNormActivation(in_channels, n0_out_channels, 1, 1, 0, 1),
                Conv2dNormActivation(n0_out_channels, n0_out_channels, 5, 1, 2,
                n0_out_channels), SqueezeExcitation(n0_out_channels, block_2_out_channels), Conv2dNormActivation3(n0_out_channels, in_channels))

    def forward(self, input):
        result = self.block(input)  # mobilenetv3.py:112
        result += input  # mobilenetv3.py:114
        return result


# torchvision.models.mobilenetv3.MobileNetV3
class MobileNetV3(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(Conv2dNormActivation(3, 16, 3, 2, 1, 1), InvertedResidual(),
                InvertedResidual2(), InvertedResidual3(), InvertedResidual4(24, 96, 2, 24,
                40), InvertedResidual5(40, 240, 64), InvertedResidual5(40, 240, 64), InvertedResidual4(40, 120, 1, 32, 48), InvertedResidual5(48, 144, 40), InvertedResidual4(48, 288, 2, 72, 96), InvertedResidual5(96, 576, 144), InvertedResidual5(96, 576, 144), Conv2dNormActivation(96, 576, 1, 1, 0, 1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Linear(576, 1024), nn.Hardswish(inplace=True),
                nn.Dropout(p=0.2, inplace=True), nn.Linear(1024, 1000))

    def forward(self, x):
        x = self.features(x)  # mobilenetv3.py:211
        x = self.avgpool(x)  # mobilenetv3.py:213
        x = torch.flatten(x, 1)  # mobilenetv3.py:214
        x = self.classifier(x)  # mobilenetv3.py:216
        return x


def model():
    return MobileNetV3()


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=4)
