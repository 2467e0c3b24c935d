"""tests/programs/experts.py - a mixture of experts as Mixtral's: which tokens an expert gets is read by the host."""
import torch
from figures import figures
from torch import nn


class Experts(nn.Module):
    def __init__(self, size, hidden, count, chosen):
        super().__init__()
        self.chosen = chosen
        self.gate = nn.Linear(size, count, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(size, hidden, bias=False), nn.SiLU(), nn.Linear(hidden, size, bias=False))
            for _ in range(count))

    def forward(self, x):
        tokens = x.flatten(0, 1)
        weights, chosen = self.gate(tokens).softmax(1, dtype=torch.float32).topk(self.chosen, -1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        mask = nn.functional.one_hot(chosen, len(self.experts)).permute(2, 1, 0)
        y = torch.zeros_like(tokens)
        for expert, m in zip(self.experts, mask):
            which, token = torch.where(m)
            y.index_add_(0, token, expert(tokens[token]) * weights[token, which, None])
        return y.view_as(x)


model = nn.Sequential(nn.Embedding(500, 64), Experts(64, 128, 8, 2), Experts(64, 128, 8, 2), nn.Linear(64, 500))
model.to("cuda", torch.bfloat16)
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for _ in range(2):
    x = torch.randint(0, 500, (4, 64)).cuda()
    nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
figures()
