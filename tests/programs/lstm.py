"""tests/programs/lstm.py - recurrent networks: their weights lie in one buffer, as cuDNN says."""
import torch
from figures import figures
from torch import nn

KINDS = (nn.LSTM, {}), (nn.GRU, {"bidirectional": True}), (nn.LSTM, {"proj_size": 8}), (nn.RNN, {"bias": False})
for kind, options in KINDS:
    model = kind(16, 32, 2, **options).cuda()
    y, _ = model(torch.randn(5, 3, 16, device="cuda", requires_grad=True))
    y.sum().backward()
    assert all(p.grad.shape == p.shape for p in model.parameters())
figures()
