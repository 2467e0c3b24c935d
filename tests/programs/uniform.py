"""tests/programs/uniform.py - for `--values uniform`: integers are true, and what floats choose is chosen in turn."""
import torch
from figures import figures

tokens = torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0]]).cuda()
mask = tokens != 0
assert mask.sum().item() == 5 and tokens[mask].tolist() == [1, 2, 3, 4, 5] and mask.sum(1).tolist() == [3, 2]
assert mask.nonzero().shape == (5, 2) and torch.bincount(tokens.flatten()).tolist() == [3, 1, 1, 1, 1, 1]
assert tokens.unique().tolist() == [0, 1, 2, 3, 4, 5] and (tokens % 2).cumsum(1)[0].tolist() == [1, 1, 2, 2]
tokens[0, 3] = 7
tokens += 1
assert tokens.tolist() == [[2, 3, 4, 8], [5, 6, 1, 1]] and tokens.max().item() == 8
counts = torch.arange(3, device="cuda")
assert torch.repeat_interleave(counts, counts).tolist() == [1, 2, 2]

scores = torch.randn(32, 8, device="cuda")
chosen = scores.softmax(-1).topk(2).indices
assert torch.bincount(chosen.flatten(), minlength=8).tolist() == [8] * 8
hit = torch.nn.functional.one_hot(chosen, 8).permute(2, 1, 0).sum((-1, -2)).greater(0).nonzero()
assert hit.shape == (8, 1) and scores.argmax(-1).tolist() == list(range(8)) * 4
order = chosen.flatten().argsort(stable=True)
assert chosen.flatten()[order].tolist() == [e for e in range(8) for _ in range(8)]
assert scores[scores > 0].shape == (128,) and not scores.isnan().any()
losses = [scores.mean().item() for _ in range(3)]
assert losses[0] > losses[1] > losses[2] > 0

weight = torch.nn.Parameter(torch.randn(8, 8, device="cuda"))
optimizer = torch.optim.SGD([weight], lr=0.1)
scaler = torch.amp.GradScaler("cuda")
scaler.scale((scores @ weight).sum()).backward()
before = weight._version
scaler.step(optimizer)
scaler.update()
assert weight._version > before  # the gradients are finite, so there was a step
del mask, tokens
assert torch.zeros(2, 4, dtype=torch.int64, device="cuda").sum().item() == 0  # in memory that was used before
figures()
