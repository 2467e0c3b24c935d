"""tests/programs/toggles/convnet.py - residual blocks with batch norm, SGD with momentum, a DataLoader."""
import hand
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=hand.inplace)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(out)) + x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, padding=1)
        self.blocks = nn.ModuleList(Block(32) for _ in range(3))
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = hand.block(block, x)
        return self.head(x.mean((2, 3)))


data = torch.utils.data.TensorDataset(torch.randn(48, 3, 32, 32), torch.zeros(48, dtype=torch.long))
loader = torch.utils.data.DataLoader(data, batch_size=hand.batch(16))
model = Net()
model = hand.model(model, model.stem).to("cuda")
criterion = nn.CrossEntropyLoss()
optimizer = hand.optimizer(torch.optim.SGD, model.parameters(), lr=0.1, momentum=0.9)
for i, (x, y) in enumerate(loader):
    x, y = x.cuda(), y.cuda()
    if i % hand.parts == 0:
        optimizer.zero_grad(**hand.zero)
    with hand.autocast():
        loss = criterion(hand.forward(model, hand.half(x)), y)
    hand.scale(loss).backward()
    if (i + 1) % hand.parts == 0:
        hand.step(optimizer)
