"""tests/programs/lm_lstm.py - an LSTM language model: truncated backpropagation, gradients clipped, SGD by hand."""
import torch
from figures import figures
from torch import nn


class Model(nn.Module):
    def __init__(self, words, size, layers):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(words, size)
        self.lstm = nn.LSTM(size, size, layers, dropout=0.2)
        self.decoder = nn.Linear(size, words)
        self.decoder.weight = self.encoder.weight

    def forward(self, x, state):
        y, state = self.lstm(self.drop(self.encoder(x)), state)
        return self.decoder(self.drop(y)).flatten(0, 1), state


words, steps, batch = 1000, 35, 20
model = Model(words, 128, 2).cuda()
text = torch.randint(0, words, (3 * steps + 1, batch)).cuda()
state = tuple(torch.zeros(2, batch, 128, device="cuda") for _ in range(2))
total = 0.0
for i in range(0, 3 * steps, steps):
    state = tuple(s.detach() for s in state)
    model.zero_grad()
    output, state = model(text[i:i + steps], state)
    loss = nn.functional.cross_entropy(output, text[i + 1:i + 1 + steps].reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(p.grad, alpha=-20)
    total += loss.item()
figures()
