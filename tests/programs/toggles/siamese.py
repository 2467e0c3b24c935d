"""tests/programs/toggles/siamese.py - one network that is called twice before the loss."""
import hand
import torch
from torch import nn


class Branch(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.activation = nn.ReLU(inplace=hand.inplace)

    def forward(self, x):
        return self.activation(self.linear(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(96, 256)
        self.layers = nn.ModuleList([Branch(256), Branch(256)])

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = hand.block(layer, x)
        return x


class Pairs(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.randn(96), torch.randn(96), float(i % 2) * 2 - 1


net = Net()
net = hand.model(net, net.first).cuda()
optimizer = hand.optimizer(torch.optim.RMSprop, net.parameters(), lr=1e-3)
for i, (a, b, target) in enumerate(torch.utils.data.DataLoader(Pairs(), batch_size=hand.batch(32))):
    a, b, target = a.cuda(), b.cuda(), target.cuda()
    with hand.autocast():
        distance = nn.functional.cosine_embedding_loss(hand.forward(net, a), hand.forward(net, b), target)
    if i % hand.parts == 0:
        net.zero_grad(**hand.zero)
    hand.scale(distance).backward()
    if (i + 1) % hand.parts == 0:
        hand.step(optimizer)
