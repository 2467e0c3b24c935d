# A step with an autocast region and a GradScaler of its own, as PyTorch's examples have them: unscaling before clipping.
import torch
import torch.nn as nn
import torch.nn.functional as F

my_scaler = torch.amp.GradScaler("cuda", enabled=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        return self.fc(F.relu(self.norm(self.conv(x))).mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 8, 8), torch.randint(0, 10, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device_type="cuda", dtype=torch.float16):
        output = model(inputs)
        loss = F.cross_entropy(output, targets)
    my_scaler.scale(loss).backward()
    my_scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    my_scaler.step(optimizer)
    my_scaler.update()
    return loss


defaults = dict(batch=12, optimizer="adamw")
