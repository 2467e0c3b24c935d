# A two-level U-Net: skips, transposed convolution, upsampling.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Conv2d(3, 6, 3, padding=1)
        self.down2 = nn.Conv2d(6, 12, 3, padding=1)
        self.middle = nn.Conv2d(12, 12, 3, padding=1)
        self.up2 = nn.ConvTranspose2d(12, 12, 2, stride=2)
        self.merge2 = nn.Conv2d(24, 6, 3, padding=1)
        self.merge1 = nn.Conv2d(12, 6, 3, padding=1)
        self.head = nn.Conv2d(6, 2, 1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = F.relu(self.down2(F.max_pool2d(a, 2)))
        x = F.relu(self.middle(F.max_pool2d(b, 2)))
        x = F.relu(self.merge2(torch.cat([b, self.up2(x)], 1)))
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        x = F.relu(self.merge1(torch.cat([a, x], 1)))
        return self.head(x)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 16, 16), torch.randint(0, 2, (n, 16, 16))


defaults = dict(batch=2)
