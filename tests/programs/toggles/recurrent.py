"""tests/programs/toggles/recurrent.py - cells in a loop over time, truncated; gradients are clipped."""
import hand
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.cell = nn.GRUCell(64, 128)
        self.drop = nn.Dropout(0.2, inplace=hand.inplace)
        self.out = nn.Linear(128, 100)

    def forward(self, tokens, h):
        outputs = []
        for t in range(tokens.shape[1]):
            h = self.cell(self.embed(tokens[:, t]), h)
            outputs.append(self.out(self.drop(h)))
        return torch.stack(outputs, 1), h


model = Model()
model = hand.model(model, model.embed).cuda()
optimizer = hand.optimizer(torch.optim.Adam, model.parameters(), lr=1e-3)
h = torch.zeros(16, 128, device="cuda")
for _ in range(3):
    tokens = torch.randint(0, 100, (16, 12), device="cuda")
    with hand.autocast():
        scores, h = hand.forward(model, tokens, h)
        loss = nn.functional.cross_entropy(scores[:, :-1].reshape(-1, 100), tokens[:, 1:].reshape(-1))
    hand.scale(loss).backward()
    if hand.scaler is None:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    hand.step(optimizer)
    optimizer.zero_grad(**hand.zero)
    h = h.detach()
