"""tests/programs/toggles/gan.py - two networks, each with an optimizer of its own."""
import hand
import torch
from torch import nn

generator = nn.Sequential(nn.Linear(32, 128), nn.ReLU(inplace=hand.inplace), nn.Linear(128, 784), nn.Tanh())
judge = nn.Sequential(nn.Linear(784, 128), nn.LeakyReLU(0.2, inplace=hand.inplace), nn.Linear(128, 1))
generator = hand.model(generator, generator[0]).cuda()
judge = hand.model(judge, judge[0]).cuda()
optimizer_g = hand.optimizer(torch.optim.Adam, generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_d = hand.optimizer(torch.optim.Adam, judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
loss_of = nn.BCEWithLogitsLoss()
ones = torch.ones(64, 1, device="cuda")
zeros = torch.zeros(64, 1, device="cuda")
for _ in range(3):
    real = torch.rand(64, 784, device="cuda")
    noise = torch.randn(64, 32, device="cuda")
    optimizer_d.zero_grad(**hand.zero)
    with hand.autocast():
        fake = hand.forward(generator, noise)
        loss_d = loss_of(hand.forward(judge, real), ones) + loss_of(hand.forward(judge, fake.detach()), zeros)
    hand.scale(loss_d).backward()
    hand.step(optimizer_d)
    optimizer_g.zero_grad(**hand.zero)
    with hand.autocast():
        loss_g = loss_of(hand.forward(judge, fake), ones)
    hand.scale(loss_g).backward()
    hand.step(optimizer_g)
