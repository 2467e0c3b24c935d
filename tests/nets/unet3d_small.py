# unet3d_small: a U-Net of volumes: convolutions, batch norm, pooling, a learned and a trilinear way up.
import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, channels_in, channels, norm):
        super().__init__()
        self.conv1 = nn.Conv3d(channels_in, channels, 3, padding=1, bias=False)
        self.norm1 = norm(channels)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv3d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = norm(channels)
        self.relu2 = nn.ReLU()

    def forward(self, x):
        x = self.relu1(self.norm1(self.conv1(x)))
        return self.relu2(self.norm2(self.conv2(x)))


class UNet3d(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.down1 = DoubleConv(1, width, nn.BatchNorm3d)
        self.down2 = DoubleConv(width, 2 * width, nn.BatchNorm3d)
        self.down3 = DoubleConv(2 * width, 4 * width, nn.InstanceNorm3d)
        self.pool = nn.MaxPool3d(2)
        self.drop = nn.Dropout3d(0.2)
        self.up2 = nn.ConvTranspose3d(4 * width, 2 * width, 2, stride=2)
        self.merge2 = DoubleConv(4 * width, 2 * width, nn.BatchNorm3d)
        self.up1 = nn.Upsample(scale_factor=2, mode="trilinear", align_corners=True)
        self.merge1 = DoubleConv(3 * width, width, nn.BatchNorm3d)
        self.head = nn.Conv3d(width, classes, 1)

    def forward(self, x):
        first = self.down1(x)
        second = self.down2(self.pool(first))
        x = self.drop(self.down3(self.pool(second)))
        x = self.merge2(torch.cat([second, self.up2(x)], 1))
        x = self.merge1(torch.cat([first, self.up1(x)], 1))
        return self.head(x)


def model():
    return UNet3d(4, 3)


def batch(n):
    return torch.randn(n, 1, 8, 16, 16), torch.randint(0, 3, (n, 8, 16, 16))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=2, steps=2)
