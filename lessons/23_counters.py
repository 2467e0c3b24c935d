# lesson: 23 Memory counters
# claim: Watch torch.cuda.memory_allocated() while tensors come and go: each costs its bytes. nvidia-smi shows more.
# run before: : VGG-19's features in eval mode, batches of images come and go
# run after: EMPTY=True : with torch.cuda.empty_cache() at the end
# show reserved at the end: end_reserved(*)
# known counters 76.4, 466.4, 1066.4, 586.4 MiB: printed(before, "net") == 76.4 and printed(before, "130 images
#   more") == 466.4 and printed(before, "200 images more") == 1066.4 and printed(before, "160 images less") == 586.4
# if: end(after) == end(before) and end_reserved(before) > 1.5 * end(before) and end_reserved(after) <
#   end_reserved(before)
# verdict: true
# text: The net takes {printed(before, "net") * MiB}, 130 images of 3 MiB {390 * MiB} more, and two batches moved to
#   the host give {480 * MiB} back at once. The driver's figure is another one: {end_reserved(before)} stay reserved
#   for {end(before)} in use until empty_cache() returns them ({end_reserved(after)}), and the CUDA context, which
#   no counter of PyTorch has, comes on top.
import torch
import torch.nn as nn

CHANNELS = [64, 64, "M", 128, 128, "M", 256, 256, 256, 256, "M",
            512, 512, 512, 512, "M", 512, 512, 512, 512, "M"]
EMPTY = False


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


def images(n):
    return torch.randn(n, 3, 512, 512).float().to("cuda")


def train_step(model, optimizer, scaler, inputs, targets):
    show("net")
    a = images(30)
    b = images(40)
    c = images(60)
    show("130 images more")
    d = images(120)
    e = images(80)
    show("200 images more")
    d = d.cpu()
    b = b.cpu()
    show("160 images less")
    if EMPTY:
        torch.cuda.empty_cache()
    torch.cuda.synchronize()
    return None


defaults = dict(batch=1, steps=1)
