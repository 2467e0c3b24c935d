"""tests/programs/faults/leak/history_of_states.py - a recurrent model that remembers every hidden state it ever had."""
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(256, 512)
        self.head = nn.Linear(512, 20)
        self.states = []

    def forward(self, sequence):
        h = sequence.new_zeros(sequence.shape[1], 512)
        for x in sequence:
            h = self.cell(x, h)
        self.states.append(h)  # fault: leak
        # repaired: self.states = [h]
        return self.head(h)


tagger = Tagger().cuda()
optimizer = torch.optim.Adam(tagger.parameters())
for _ in range(7):
    loss = tagger(torch.randn(6, 64, 256, device="cuda")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
