"""tests/programs/toggles/mlp.py - a multilayer perceptron, AdamW, batches made on the GPU."""
import hand
import torch
from torch import nn

model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(inplace=hand.inplace), nn.Linear(512, 512),
                      nn.ReLU(inplace=hand.inplace), nn.Linear(512, 10))
model = hand.compiled(hand.model(model, model[0]).cuda())
optimizer = hand.optimizer(torch.optim.AdamW, model.parameters(), lr=1e-3)
for _ in range(3):
    x = torch.randn(128, 256, device="cuda")
    y = torch.randint(0, 10, (128,), device="cuda")
    with hand.autocast():
        loss = nn.functional.cross_entropy(hand.forward(model, hand.half(x)), y)
    optimizer.zero_grad(**hand.zero)
    hand.scale(loss).backward()
    hand.step(optimizer)
    loss.item()
