"""tests/programs/faults/leak/outputs_by_step.py - keeps the logits of every step in a dictionary, for a confusion
matrix that needs only the predicted classes."""
import torch
from torch import nn


def main():
    model = nn.Linear(1024, 100).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    outputs = {}
    for step in range(8):
        x = torch.randn(256, 1024, device="cuda")
        y = torch.randint(0, 100, (256,), device="cuda")
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        outputs[step] = logits.detach()  # fault: leak
        # repaired: outputs[step] = logits.detach().argmax(1).cpu()
    return outputs


main()
