"""tests/programs/toggles/unet.py - a small U-Net: skip connections keep activations for long."""
import hand
import torch
from torch import nn


class Double(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.conv1 = nn.Conv2d(a, b, 3, padding=1)
        self.act1 = nn.ReLU(inplace=hand.inplace)
        self.conv2 = nn.Conv2d(b, b, 3, padding=1)
        self.act2 = nn.ReLU(inplace=hand.inplace)

    def forward(self, x):
        return self.act2(self.conv2(self.act1(self.conv1(x))))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([Double(1, 8), Double(8, 16)])
        self.bottom = Double(16, 32)
        self.up = nn.ModuleList([Double(48, 16), Double(24, 8)])
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        skips = []
        for block in self.down:
            x = hand.block(block, x)
            skips.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.bottom(x)
        for block in self.up:
            x = nn.functional.interpolate(x, scale_factor=2)
            x = hand.block(block, torch.cat([x, skips.pop()], 1))
        return self.head(x)


images = torch.utils.data.TensorDataset(torch.rand(12, 1, 32, 32), torch.ones(12, 1, 32, 32))
net = UNet()
net = hand.model(net, net.down).cuda()
optimizer = hand.optimizer(torch.optim.AdamW, net.parameters(), lr=1e-3)
for image, mask in torch.utils.data.DataLoader(images, batch_size=hand.batch(4), shuffle=True):
    image, mask = image.cuda(), mask.cuda()
    with hand.autocast():
        loss = nn.functional.binary_cross_entropy_with_logits(hand.forward(net, hand.half(image)), mask)
    optimizer.zero_grad(**hand.zero)
    hand.scale(loss).backward()
    hand.step(optimizer)
