# ViT-Tiny (patch 16, width 192, 12 layers, 3 heads) on 224x224 images.
# Lesson: with attention written out, the [heads, 197, 197] scores outweigh the tokens; amp and
# checkpoint = blocks act on them, in-place has nothing to act on.
import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH = 192
HEADS = 3
LAYERS = 12


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        b, n, d = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        att = (q * (d // HEADS) ** -0.5) @ k.transpose(-2, -1)
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).reshape(b, n, d)
        return self.proj(y)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(WIDTH, 4 * WIDTH)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attn = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = MLP()

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 16, stride=16)
        self.cls = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.pos = nn.Parameter(torch.zeros(1, 197, WIDTH))
        self.blocks = nn.Sequential(*[Block() for i in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1)
        x = x + self.pos
        x = self.blocks(x)
        x = self.norm(x)
        return self.head(x[:, 0])


def model():
    return ViT()


def batch(n):
    return torch.randn(n, 3, 224, 224), torch.randint(0, 1000, (n,))


defaults = dict(batch=32, optimizer="adamw")
