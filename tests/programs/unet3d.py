"""tests/programs/unet3d.py - a 3-D UNet on volumes: instance norm, deep supervision, Dice loss, bfloat16 autocast."""
import torch
from figures import figures
from torch import nn


def block(inputs, outputs):
    layers = []
    for i in (inputs, outputs):
        layers += [nn.Conv3d(i, outputs, 3, padding=1), nn.InstanceNorm3d(outputs, affine=True),
                   nn.LeakyReLU(0.01, True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, widths=(8, 16, 32)):
        super().__init__()
        self.down = nn.ModuleList(block(i, o) for i, o in zip((1,) + widths, widths))
        self.up = nn.ModuleList(nn.ConvTranspose3d(i, o, 2, 2) for i, o in zip(widths[::-1], widths[-2::-1]))
        self.join = nn.ModuleList(block(2 * w, w) for w in widths[-2::-1])
        self.heads = nn.ModuleList(nn.Conv3d(w, 3, 1) for w in widths[-2::-1])

    def forward(self, x):
        skips = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else nn.functional.max_pool3d(x, 2))
            skips.append(x)
        skips.pop()
        outputs = []
        for up, join, head in zip(self.up, self.join, self.heads):
            x = join(torch.cat([up(x), skips.pop()], 1))
            outputs.append(head(x))
        return outputs


def dice(output, target):
    p = output.softmax(1)
    t = torch.zeros_like(p).scatter_(1, target[:, None], 1)
    return 1 - ((2 * (p * t).sum((2, 3, 4)) + 1e-5) / ((p + t).sum((2, 3, 4)) + 1e-5)).mean()


model = UNet().cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    volume = torch.randn(2, 1, 32, 32, 32).pin_memory().cuda(non_blocking=True)
    target = torch.randint(0, 3, (2, 32, 32, 32)).cuda()
    with torch.autocast("cuda", torch.bfloat16):
        outputs = model(volume)
    loss = sum(dice(y.float(), target[:, ::s, ::s, ::s]) for y, s in zip(outputs, (2, 1)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
figures()
