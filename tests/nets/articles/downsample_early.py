# Downsampling early: each way that articles make an image or a feature map small.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Focus(nn.Module):
    def __init__(self, c1, c2, k=1):
        super(Focus, self).__init__()
        self.conv = nn.Conv2d(c1 * 4, c2, k, 1, k // 2)

    def forward(self, x):  # x(b,c,w,h) -> y(b,4c,w/2,h/2)
        return self.conv(torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1))


class BlurPool(nn.Module):
    def __init__(self, channels, stride=2):
        super().__init__()
        filt = torch.tensor([1., 2., 1.])
        filt = filt[:, None] * filt[None, :]
        filt = filt / torch.sum(filt)
        self.channels, self.stride = channels, stride
        self.register_buffer('filt', filt[None, None, :, :].repeat((channels, 1, 1, 1)))
        self.pad = nn.ReflectionPad2d([1, 1, 1, 1])

    def forward(self, inp):
        return F.conv2d(self.pad(inp), self.filt, stride=self.stride, groups=inp.shape[1])


class PatchEmbed(nn.Module):
    def __init__(self, img_size=32, patch_size=8, in_chans=3, embed_dim=16):
        super().__init__()
        self.num_patches = (img_size // patch_size) ** 2
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, x):
        B, C, H, W = x.shape
        return self.proj(x).flatten(2).transpose(1, 2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, kernel_size=7, stride=2, padding=3, bias=False)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.avg = nn.AvgPool2d(2, stride=2, ceil_mode=True, count_include_pad=False)
        self.dilated = nn.Conv2d(8, 8, 3, stride=2, padding=2, dilation=2)
        self.focus = Focus(3, 8)
        self.blur = BlurPool(8)
        self.unshuffle = nn.PixelUnshuffle(2)
        self.shuffle = nn.PixelShuffle(2)
        self.mix = nn.Conv2d(12, 8, 1)
        self.patches = PatchEmbed()
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        a = self.maxpool(F.relu(self.conv1(x)))
        small = F.interpolate(x, scale_factor=0.5, mode='bilinear', align_corners=False)
        b = self.blur(self.mix(self.unshuffle(x)))
        c = self.avg(self.focus(x))
        d = F.max_pool2d(F.adaptive_avg_pool2d(small, (16, 16)), 2, 2)
        e = F.interpolate(x, size=(8, 8), mode='nearest')
        f = F.avg_pool2d(x, 4)
        g = F.adaptive_max_pool2d(x, 8)
        rgb = (d + e + f + g + F.interpolate(x, size=8, mode='area')
               + F.interpolate(x, size=(8, 8), mode='bicubic', align_corners=False))
        feats = a + b + c + self.focus.conv(torch.cat([rgb] * 4, 1))
        feats = F.relu6(self.dilated(feats))
        p = self.patches(x).mean(1)
        tail = self.shuffle(feats).flatten(1)[:, :16]
        return self.fc(p + tail + F.pad(feats.mean((2, 3)), (4, 4)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))
