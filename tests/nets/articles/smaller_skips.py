# A smaller network: short skips against long ones, an encoder and decoder whose features are kept in a list.
import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    """(convolution => [BN] => ReLU) * 2"""

    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        if not mid_channels:
            mid_channels = out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True)
        )

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear=True):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY = x2.size()[2] - x1.size()[2]
        diffX = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2,
                        diffY // 2, diffY - diffY // 2])
        x = torch.cat([x2, x1], dim=1)
        return self.conv(x)


class BasicBlock(nn.Module):
    expansion: int = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        identity = x

        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)

        out = self.conv2(out)
        out = self.bn2(out)

        if self.downsample is not None:
            identity = self.downsample(x)

        out += identity
        out = self.relu(out)

        return out


class Net(nn.Module):
    def __init__(self, n_channels=3, n_classes=5):
        super().__init__()
        self.inc = DoubleConv(n_channels, 8)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(8, 16))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(16, 16))
        self.up1 = Up(32, 8)
        self.up2 = Up(16, 8)
        self.up3 = Up(16, 8, bilinear=False)
        downsample = nn.Sequential(
            nn.Conv2d(8, 16, kernel_size=1, stride=2, bias=False),
            nn.BatchNorm2d(16),
        )
        layers = [BasicBlock(8, 16, 2, downsample)]
        layers.extend([BasicBlock(16, 16 * BasicBlock.expansion) for _ in range(1, 3)])
        self.layer1 = nn.Sequential(*layers)
        self.outc = nn.Conv2d(8, n_classes, kernel_size=1)

    def forward(self, x):
        feats = []
        x = self.inc(x)
        feats.append(x)
        for down in (self.down1, self.down2):
            x = down(x)
            feats.append(x)
        feats = feats[::-1]
        x = self.up1(feats[0], feats[1])
        x = self.up2(x, feats[2])
        x = self.up3(self.layer1(x), x)
        return self.outc(F.avg_pool2d(x, kernel_size=4))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 33, 35), torch.randint(0, 5, (n, 8, 8))
