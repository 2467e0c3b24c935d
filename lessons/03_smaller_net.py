# lesson: 3 A smaller network
# claim: Leave out the large fully connected layers and end in global average pooling; prefer short skip connections
#   to long ones.
# run before: steps=2 : VGG-16 with its three fully connected layers
# run after: HEAD="pool" steps=2 : global average pooling and one linear layer
# run long_skip: BODY="unet" LONG=True steps=2 grad=no_grad : six convolutions, a skip over all of them, no_grad
# run short_skip: BODY="unet" steps=2 grad=no_grad : the same with a skip over each pair
# show parameters: parameters(*) as count
# show parameters, bytes: category(*, parameter)
# known VGG-16 has 138,357,544 parameters, 123,642,856 of them in the fully connected layers: parameters(before) ==
#   138357544 and parameters(before, classifier) == 123642856
# if: parameters(after) < 0.12 * parameters(before) and saved(after) > 0.98 * saved(before) and peak(short_skip) <
#   peak(long_skip)
# verdict: true when parameters are what fills the memory
# text: The fully connected layers hold {parameters(before, classifier) as count} of {parameters(before) as count}
#   parameters; without them parameters, gradients and optimizer state shrink to {parameters(after) /
#   parameters(before) as %}, and the peak falls from {peak(before)} to {peak(after)}. What autograd keeps belongs
#   to the first convolutions and stays: {saved(before)} against {saved(after)}. A skip over the whole net keeps one
#   tensor longer: {peak(long_skip)} against {peak(short_skip)} where nothing is saved for backward.
import torch
import torch.nn as nn

CHANNELS = [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"]
HEAD = "fc"
BODY = "vgg"
LONG = False


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
        if HEAD == "pool":
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.classifier = nn.Linear(512, 1000)
        else:
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


class Skips(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, padding=1)
        self.pairs = nn.ModuleList([
            nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1)) for i in range(3)
        ])
        self.fc = nn.Linear(64, 1000)

    def forward(self, x):
        x = self.stem(x)
        if LONG:
            first = x
            for pair in self.pairs:
                x = pair(x)
            x = x + first
        else:
            for pair in self.pairs:
                x = x + pair(x)
        return self.fc(x.mean((2, 3)))


def model():
    return VGG16() if BODY == "vgg" else Skips()


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


defaults = dict(batch=16)
