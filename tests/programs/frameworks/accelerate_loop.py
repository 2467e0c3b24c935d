"""tests/programs/frameworks/accelerate_loop.py - accelerate's prepare and accumulate, mixed precision, gather."""
import torch
from accelerate import Accelerator
from figures import figures
from torch import nn

accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
data = torch.utils.data.TensorDataset(torch.randn(64, 3, 16, 16), torch.randint(0, 10, (64,)))
model = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                      nn.Linear(32, 10))
optimizer = torch.optim.AdamW(model.parameters())
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=8)
model, optimizer, loader, scheduler = accelerator.prepare(
    model, optimizer, torch.utils.data.DataLoader(data, batch_size=8, shuffle=True), scheduler)
for x, y in loader:
    with accelerator.accumulate(model):
        loss = nn.functional.cross_entropy(model(x), y)
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    accelerator.gather(loss.detach())
figures()
accelerator.end_training()
