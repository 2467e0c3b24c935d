# GPT-2 small (124,439,808 parameters, tied head), attention written out, 256 tokens.
# Lesson: attention out of matmul, mask, softmax and dropout keeps several [heads, T, T]
# tensors a layer; compare gpt2_small_sdpa.py. The logits cost more than any layer.
import math

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
        self.attn_drop = nn.Dropout(DROP)
        self.drop = nn.Dropout(DROP)
        mask = torch.tril(torch.ones(CONTEXT, CONTEXT))
        self.register_buffer("mask", mask.view(1, 1, CONTEXT, CONTEXT))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).split(WIDTH, dim=2)
        q = q.view(b, t, HEADS, d // HEADS).transpose(1, 2)
        k = k.view(b, t, HEADS, d // HEADS).transpose(1, 2)
        v = v.view(b, t, HEADS, d // HEADS).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(d // HEADS))
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        att = self.attn_drop(att)
        y = att @ v
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
