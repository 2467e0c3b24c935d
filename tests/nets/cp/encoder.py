# An encoder of two blocks, one with a causal mask, and sequences of an odd length: no head-tail load balancing.
import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH = 64
HEADS = 4
TOKENS = 15
CLASSES = 11

defaults = {"batch": 2, "steps": 2}


class Block(nn.Module):
    is_causal = False

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.q = nn.Linear(WIDTH, WIDTH)
        self.k = nn.Linear(WIDTH, WIDTH)
        self.v = nn.Linear(WIDTH, WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.GELU(),
                                 nn.Linear(3 * WIDTH, WIDTH))

    def forward(self, x):
        b, t, d = x.shape
        y = self.norm(x)
        q = self.q(y).view(b, t, HEADS, d // HEADS).transpose(1, 2)
        k = self.k(y).view(b, t, HEADS, d // HEADS).transpose(1, 2)
        v = self.v(y).view(b, t, HEADS, d // HEADS).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(x)


class CausalBlock(Block):
    is_causal = True


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), CausalBlock())
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, batch):
        return self.head(self.blocks(batch["x"]))


def model():
    return Encoder()


def batch(n):
    inputs = {"x": torch.randn(n, TOKENS, WIDTH), "length": torch.full((n,), TOKENS)}
    return inputs, torch.randint(0, CLASSES, (n, TOKENS))


def loss(output, target):
    return F.cross_entropy(output.transpose(1, 2), target)
