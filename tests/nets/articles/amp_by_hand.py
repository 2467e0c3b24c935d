# A step with GradScaler and autocast as a decorator and a region, gradients unscaled and clipped.
import torch
import torch.nn as nn
import torch.nn.functional as F

from torch.cuda.amp import autocast as autocast, GradScaler
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.fc = nn.Linear(8, 10)
    @autocast()
    def forward(self, x):
        x = self.conv(x).relu()
        with autocast(enabled=False):
            x = x.float().mean((2, 3))
        return self.fc(x)
def model():
    return Net()
grad_scaler = GradScaler()
def train_step(model, optimizer, scaler, inputs, targets):
    loss_fn = nn.CrossEntropyLoss().cuda()
    optimizer.zero_grad()
    with autocast():
        output = model(inputs)
        loss = loss_fn(output, targets)
    grad_scaler.scale(loss).backward()
    grad_scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    grad_scaler.step(optimizer)
    grad_scaler.update()
    return loss


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))
