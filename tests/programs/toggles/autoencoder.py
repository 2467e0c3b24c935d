"""tests/programs/toggles/autoencoder.py - Conv2d and ConvTranspose2d, mean squared error, Adam, an evaluation."""
import hand
import torch
from torch import nn


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.LeakyReLU(0.1, inplace=hand.inplace),
                                     nn.Conv2d(16, 32, 3, 2, 1))
        self.decoder = nn.Sequential(nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.LeakyReLU(0.1, inplace=hand.inplace),
                                     nn.ConvTranspose2d(16, 1, 4, 2, 1))

    def forward(self, x):
        return self.decoder(self.encoder(x))


model = Autoencoder()
model = hand.model(model, model.encoder).to(device="cuda")
optimizer = hand.optimizer(torch.optim.Adam, model.parameters(), lr=1e-3)
for epoch in range(2):
    model.train()
    for _ in range(2):
        images = torch.rand(32, 1, 28, 28, device="cuda")
        with hand.autocast():
            output = hand.forward(model, images)
            loss = nn.functional.mse_loss(output, images)
        optimizer.zero_grad(**hand.zero)
        hand.scale(loss).backward()
        hand.step(optimizer)
    model.eval()
    with torch.no_grad():
        images = torch.rand(64, 1, 28, 28, device="cuda")
        with hand.autocast():
            output = hand.forward(model, images)
        error = (output - images).abs().mean().item()
