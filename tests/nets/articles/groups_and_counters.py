# Parameter groups, the device as an object, memory counters, a loss with label smoothing.
import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Conv2d(3 if i == 0 else 8, 8, 3, padding=1) for i in range(3)])
        self.register_buffer("scale", torch.ones(1))
        self.fc = nn.Linear(8, 10)
        self.softmax = nn.Softmax(dim=1)
    def forward(self, x):
        feats = []
        for i, l in enumerate(self.blocks):
            x = F.relu(l(x), inplace=True)
            feats.append(x)
        x = torch.stack(feats, 0).sum(0) * self.scale
        x = F.max_pool2d(x, 2)
        x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        x = F.dropout(x, p=0.5, training=self.training)
        return self.fc(x.mean(3).mean(2))
def model():
    m = Net().to(device)
    print(torch.cuda.memory_allocated(device), torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved(0), "{:.1f}M".format(torch.cuda.memory_allocated() / 1e6))
    torch.cuda.reset_peak_memory_stats()
    return m
def optimizer(model):
    return torch.optim.AdamW([{"params": model.blocks.parameters(), "lr": 1e-4}, {"params": model.fc.parameters()}], lr=1e-3)
def loss(output, target):
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1).cuda()
    return criterion(output, target) + 1e-4 * sum([p.pow(2).sum() for p in []], torch.zeros(1, device=device)).sum()


def batch(n):
    return torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))
