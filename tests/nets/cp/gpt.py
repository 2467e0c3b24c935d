# A decoder of two blocks whose positions are a buffer, so that it can be split along the sequence: cp-buffers=rope:0.
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 101
WIDTH = 64
HEADS = 4
TOKENS = 128

defaults = {"batch": 2, "steps": 2}


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.proj = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, rope):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3 * HEADS, d // HEADS).transpose(1, 2).chunk(3, 1)
        y = F.scaled_dot_product_attention(q * rope, k * rope, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, rope):
        x = x + self.attention(self.norm1(x), rope)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rope", torch.ones(TOKENS, WIDTH // HEADS))
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, self.rope)
        return self.head(self.norm(x))


def model():
    return Decoder()


def batch(n):
    ids = torch.randint(0, VOCAB, (n, TOKENS + 1))
    return ids[:, :-1], ids[:, 1:]


def loss(output, target):
    return F.cross_entropy(output.flatten(0, 1), target.flatten())
