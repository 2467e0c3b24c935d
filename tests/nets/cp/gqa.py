# A decoder whose heads share keys and values, with dropout in its attention; positions are counted in forward.
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 64
WIDTH = 96
HEADS = 6
SHARED = 2
TOKENS = 256

defaults = {"batch": 1, "steps": 2}


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(WIDTH, WIDTH, bias=False)
        self.kv = nn.Linear(WIDTH, 2 * SHARED * WIDTH // HEADS, bias=False)
        self.proj = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q = self.q(x).view(b, t, HEADS, d // HEADS).transpose(1, 2)
        k, v = self.kv(x).view(b, t, 2 * SHARED, d // HEADS).transpose(1, 2).chunk(2, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1 if self.training else 0.0, is_causal=True,
                                           enable_gqa=True)
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, WIDTH)
        self.positions = nn.Embedding(TOKENS, WIDTH)
        self.layers = nn.ModuleList([Attention(), Attention()])
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            x = x + layer(self.norm(x))
        return self.head(x)


def model():
    return Decoder()


def batch(n):
    ids = torch.randint(0, VOCAB, (n, TOKENS))
    return ids, ids


def loss(output, target):
    return F.cross_entropy(output.flatten(0, 1), target.flatten())
