# timm.convnext_atto, written by torch2net.py from PyTorch 2.15.0.
# Lesson: where a model of your own puts its memory.
import torch
import torch.nn as nn
import torch.nn.functional as F


# timm.layers.norm.LayerNorm2d
class LayerNorm2d(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size))
        self.size = size

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)  # norm.py:128
        # norm.py:132
        x = F.layer_norm(x, (self.size,), weight=self.weight, bias=self.bias, eps=1e-06)
        x = x.permute(0, 3, 1, 2)  # norm.py:133
        return x


# timm.layers.activations.GELU
class GELU(nn.Module):
    def forward(self, input):
        return F.gelu(input)


# timm.layers.adaptive_avgmax_pool.SelectAdaptivePool2d
class SelectAdaptivePool2d(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Identity()

    def forward(self, x):
        x = self.pool(x)  # adaptive_avgmax_pool.py:172
        x = self.flatten(x)  # adaptive_avgmax_pool.py:173
        return x


# timm.layers.mlp.Mlp
class Mlp(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.fc1 = nn.Conv2d(in_channels, out_channels, 1)
        self.act = GELU()
        self.drop1 = nn.Dropout(p=0.0)
        self.norm = nn.Identity()
        self.fc2 = nn.Conv2d(out_channels, in_channels, 1)
        self.drop2 = nn.Dropout(p=0.0)

    def forward(self, x):
        x = self.fc1(x)  # mlp.py:48
        x = self.act(x)  # mlp.py:49
        x = self.drop1(x)  # mlp.py:50
        x = self.norm(x)  # mlp.py:51
        x = self.fc2(x)  # mlp.py:52
        x = self.drop2(x)  # mlp.py:53
        return x


# timm.layers.classifier.NormMlpClassifierHead
class NormMlpClassifierHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.global_pool = SelectAdaptivePool2d()
        self.norm = LayerNorm2d(320)
        self.flatten = nn.Flatten()
        self.pre_logits = nn.Identity()
        self.drop = nn.Dropout(p=0.0)
        self.fc = nn.Linear(320, 1000)

    def forward(self, x):
        x = self.global_pool(x)  # classifier.py:267
        x = self.norm(x)  # classifier.py:268
        x = self.flatten(x)  # classifier.py:269
        x = self.pre_logits(x)  # classifier.py:270
        x = self.drop(x)  # classifier.py:271
        x = self.fc(x)  # classifier.py:274
        return x


# timm.models.convnext.ConvNeXtBlock
class ConvNeXtBlock(nn.Module):
    def __init__(self, size, out_channels):
        super().__init__()
        self.gamma = nn.Parameter(torch.full((size,), 9.999999974752427e-07))
        self.conv_dw = nn.Conv2d(size, size, 7, padding=3, groups=size)
        self.norm = LayerNorm2d(size)
        self.mlp = Mlp(size, out_channels)
        self.shortcut = nn.Identity()
        self.drop_path = nn.Identity()

    def forward(self, x):
        x_1 = self.conv_dw(x)  # convnext.py:206
        x_1 = self.norm(x_1)  # convnext.py:208
        x_1 = self.mlp(x_1)  # convnext.py:209
        x_1 = x_1 * self.gamma.reshape(1, -1, 1, 1)  # convnext.py:216
        x = self.drop_path(x_1) + self.shortcut(x)  # convnext.py:218
        return x


# timm.models.convnext.ConvNeXtStage
class ConvNeXtStage(nn.Module):
    def __init__(self):
        super().__init__()
        self.downsample = nn.Identity()
        self.blocks = nn.Sequential(ConvNeXtBlock(40, 160), ConvNeXtBlock(40, 160))

    def forward(self, x):
        x = self.downsample(x)  # convnext.py:308
        x = self.blocks(x)  # convnext.py:312
        return x


# timm.models.convnext.ConvNeXtStage
class ConvNeXtStage2(nn.Module):
    def __init__(self, size, out_channels, blocks_0_out_channels):
        super().__init__()
        self.downsample = nn.Sequential(LayerNorm2d(size), nn.Conv2d(size, out_channels, 2,
                stride=2))
        self.blocks = nn.Sequential(ConvNeXtBlock(out_channels, blocks_0_out_channels),
                ConvNeXtBlock(out_channels, blocks_0_out_channels))

    def forward(self, x):
        x = self.downsample(x)  # convnext.py:308
        x = self.blocks(x)  # convnext.py:312
        return x


# timm.models.convnext.ConvNeXtStage
class ConvNeXtStage3(nn.Module):
    def __init__(self):
        super().__init__()
        self.downsample = nn.Sequential(LayerNorm2d(80), nn.Conv2d(80, 160, 2, stride=2))
        self.blocks = nn.Sequential(ConvNeXtBlock(160, 640), ConvNeXtBlock(160, 640),
                ConvNeXtBlock(160, 640), ConvNeXtBlock(160, 640), ConvNeXtBlock(160,
                640), ConvNeXtBlock(160, 640))

    def forward(self, x):
        x = self.downsample(x)  # convnext.py:308
        x = self.blocks(x)  # convnext.py:312
        return x


# timm.models.convnext.ConvNeXt
class ConvNeXt(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 40, 4, stride=4), LayerNorm2d(40))
        self.stages = nn.Sequential(ConvNeXtStage(), ConvNeXtStage2(40, 80, 320), ConvNeXtStage3(),
                ConvNeXtStage2(160, 320, 1280))
        self.norm_pre = nn.Identity()
        self.head = NormMlpClassifierHead()

    def forward(self, x):
        x = self.stem(x)  # convnext.py:621
        x = self.stages(x)  # convnext.py:622
        x = self.norm_pre(x)  # convnext.py:623
        return self.head(x)


def model():
    return ConvNeXt()


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=4)
