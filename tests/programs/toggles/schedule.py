"""tests/programs/toggles/schedule.py - parameter groups, a schedule of the rate, labels made in a function."""
import hand
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(500, 64)
        self.body = nn.Sequential(*(nn.Sequential(nn.Linear(64, 64), nn.ELU(inplace=hand.inplace)) for _ in range(4)))
        self.out = nn.Linear(64, 12)

    def forward(self, words):
        x = self.embed(words)
        for part in self.body:
            x = hand.block(part, x)
        return self.out(x)


def batch(size):
    return torch.randint(0, 500, (size, 20), device="cuda"), torch.randint(0, 12, (size, 20), device="cuda")


def train(model, optimizer, schedule):
    words, tags = batch(32)
    with hand.autocast():
        scores = hand.forward(model, words)
        loss = nn.functional.cross_entropy(scores.view(-1, 12), tags.view(-1))
    hand.scale(loss).backward()
    hand.step(optimizer)
    schedule.step()
    optimizer.zero_grad(**hand.zero)
    return float(loss)


model = Tagger()
model = hand.model(model, model.embed).cuda()
slow = {"params": model.embed.parameters(), "lr": 1e-4}
rest = {"params": list(model.body.parameters()) + list(model.out.parameters())}
optimizer = hand.optimizer(torch.optim.AdamW, [slow, rest], lr=1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
for _ in range(3):
    train(model, optimizer, schedule)
