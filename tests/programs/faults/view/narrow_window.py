"""tests/programs/faults/view/narrow_window.py - the newest second of a long recording is kept for the next step."""
import torch
from torch import nn

SECOND = 16000


def stream(model, steps):
    previous = torch.zeros(4, SECOND, device="cuda")
    for _ in range(steps):
        audio = torch.randn(4, 30 * SECOND, device="cuda")
        tail = audio.narrow(1, 29 * SECOND, SECOND)
        model(torch.cat([previous, tail], 1)[:, None])
        previous = tail  # fault: view
        # repaired: previous = tail.clone()


with torch.no_grad():
    stream(nn.Conv1d(1, 4, 400, stride=160).cuda(), 7)
