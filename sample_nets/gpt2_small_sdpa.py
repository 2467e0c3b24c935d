# GPT-2 small with scaled_dot_product_attention in place of attention written out.
# Lesson: the fused kernel keeps q, k, v, the output and one number a row; no [T, T] tensor.
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 50257
CONTEXT = 1024
WIDTH = 768
HEADS = 12
LAYERS = 12
TOKENS = 256
DROP = 0.1


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.drop = nn.Dropout(DROP)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).split(WIDTH, dim=2)
        q = q.view(b, t, HEADS, d // HEADS).transpose(1, 2)
        k = k.view(b, t, HEADS, d // HEADS).transpose(1, 2)
        v = v.view(b, t, HEADS, d // HEADS).transpose(1, 2)
        p = DROP if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(b, t, d)
        return self.drop(self.proj(y))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, 4 * WIDTH)
        self.gelu = nn.GELU(approximate="tanh")
        self.proj = nn.Linear(4 * WIDTH, WIDTH)
        self.drop = nn.Dropout(DROP)

    def forward(self, x):
        return self.drop(self.proj(self.gelu(self.fc(x))))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(WIDTH)
        self.attn = Attention()
        self.ln2 = nn.LayerNorm(WIDTH)
        self.mlp = MLP()

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(VOCAB, WIDTH)
        self.wpe = nn.Embedding(CONTEXT, WIDTH)
        self.drop = nn.Dropout(DROP)
        self.blocks = nn.ModuleList([Block() for i in range(LAYERS)])
        self.ln = nn.LayerNorm(WIDTH)

    def forward(self, ids):
        position = torch.arange(ids.shape[1], device=ids.device)
        x = self.drop(self.wte(ids) + self.wpe(position))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.ln(x), self.wte.weight)


def model():
    return GPT2()


def batch(n):
    return torch.randint(0, VOCAB, (n, TOKENS)), torch.randint(0, VOCAB, (n, TOKENS))


def loss(output, target):
    return F.cross_entropy(output.flatten(0, 1), target.flatten())


defaults = dict(batch=4, optimizer="adamw")
