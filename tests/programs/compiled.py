"""tests/programs/compiled.py - torch.compile: a convolution and attention, trained by kernels that Triton compiles."""
import torch
from figures import figures
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 64, 4, stride=4), nn.BatchNorm2d(64), nn.ReLU())
        self.norm = nn.LayerNorm(64)
        self.qkv = nn.Linear(64, 192)
        self.head = nn.Linear(64, 10)

    def forward(self, images):
        x = self.conv(images).flatten(2).transpose(1, 2)
        q, k, v = (y.unflatten(-1, (4, 16)).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1))
        x = x + nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return self.head(nn.functional.gelu(x).mean(1))


model = torch.compile(Net().cuda())
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    with torch.autocast("cuda", torch.bfloat16):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 3, 32, 32, device="cuda")),
                                           torch.randint(0, 10, (8,), device="cuda"))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
figures()
