# VGG-19's .features in eval mode and five image batches, with the allocator's counter printed.
# Lesson: a tensor costs its bytes and nothing hidden: 30 + 40 + 60 images of 3 MiB add 390 MiB,
# moving two batches to the host gives 480 MiB back at once, and empty_cache() is not needed for it.
import torch
import torch.nn as nn

CHANNELS = [64, 64, "M", 128, 128, "M", 256, 256, 256, 256, "M",
            512, 512, 512, 512, "M", 512, 512, 512, 512, "M"]
SIDE = 512


def model():
    layers = []
    channels_in = 3
    for channels in CHANNELS:
        if channels == "M":
            layers.append(nn.MaxPool2d(2))
        else:
            layers.append(nn.Conv2d(channels_in, channels, 3, padding=1))
            layers.append(nn.ReLU(inplace=True))
            channels_in = channels
    return nn.Sequential(*layers).eval()


def batch(n):
    return (), ()


def show(text):
    print(f"{text}: {torch.cuda.memory_allocated() / 2 ** 20:.1f} MiB")


def images(n, device):
    return torch.randn(n, 3, SIDE, SIDE).float().to(device)


def train_step(model, optimizer, scaler, inputs, targets):
    device = list(model.parameters())[0].device
    show("net")
    a = images(30, device)
    b = images(40, device)
    c = images(60, device)
    show("130 images more")
    d = images(120, device)
    e = images(80, device)
    show("200 images more")
    d = d.cpu()
    b = b.cpu()
    show("160 images less")
    torch.cuda.empty_cache()
    show("cache emptied")
    return None


defaults = dict(batch=1, steps=1)
