"""tests/programs/faults/view/small_vocabulary.py - ten rows of an embedding are used, as a view that keeps the whole
table."""
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        table = torch.randn(20000, 256, device="cuda")
        self.register_buffer("words", table[:10])  # fault: view
        # repaired: self.register_buffer("words", table[:10].clone())
        self.linear = nn.Linear(256, 256)

    def forward(self, x):
        return self.linear(x) @ self.words.T


model = Classifier().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    loss = model(torch.randn(64, 256, device="cuda")).logsumexp(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
