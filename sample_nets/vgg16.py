# VGG-16 on 224x224 images.
# Lesson: three fully connected layers hold 123,642,856 of the 138,357,544 parameters, while
# nearly all activations belong to the first convolutions.
import torch
import torch.nn as nn

CHANNELS = [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"]


class VGG16(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        channels_in = 3
        for c in CHANNELS:
            if c == "M":
                layers.append(nn.MaxPool2d(2))
            else:
                layers.append(nn.Conv2d(channels_in, c, 3, padding=1))
                layers.append(nn.ReLU())
                channels_in = c
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096), nn.ReLU(), nn.Dropout(),
            nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(),
            nn.Linear(4096, 1000),
        )

    def forward(self, x):
        x = self.features(x)
        x = self.avgpool(x)
        x = torch.flatten(x, 1)
        return self.classifier(x)


def model():
    return VGG16()


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


defaults = dict(batch=16)
