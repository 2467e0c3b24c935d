"""tests/programs/values.py - reads values in all ways: each is counted."""
import torch
from figures import figures

a = torch.randn(64, 64, device="cuda")
a.sum().item()
bool((a > 0).any())
assert a.nonzero().shape[0] == 0
assert a[a > 0].numel() == 0
a.cpu()
a.tolist()
figures()
