# The language model of lm4.py, forward only, its result bound to nothing.
# Lesson: the whole graph goes the moment the statement ends, head first; nothing of a step
# is left when the next one starts.
import math

import torch
import torch.nn as nn

VOCAB = 10000
WIDTH = 512
LAYERS = 4
HEADS = 16
FF = 1344
LENGTH = 100


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(VOCAB, WIDTH))

    def forward(self, ids):
        return self.weight[ids]


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        rms = torch.sqrt(torch.mean(x ** 2, dim=-1, keepdim=True) + 1e-5)
        return (x / rms) * self.weight


class Linear(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        scale = math.sqrt(1.0 / features_in)
        self.weight = nn.Parameter(torch.randn(features_out, features_in) * scale)

    def forward(self, x):
        return torch.einsum("bti,oi->bto", x, self.weight)


class Rotary(nn.Module):
    # The tables stay on the host and are copied at every use.
    def __init__(self, width):
        super().__init__()
        rate = 10000.0 ** (torch.arange(0, width, 2).float() / -width)
        angle = torch.arange(LENGTH).float().unsqueeze(1) * rate
        self.sin = torch.sin(angle)
        self.cos = torch.cos(angle)

    def forward(self, x):
        n = x.shape[-2]
        sin = self.sin[:n].to(x.device)
        cos = self.cos[:n].to(x.device)
        even = x[..., 0::2] * cos - x[..., 1::2] * sin
        odd = x[..., 0::2] * sin + x[..., 1::2] * cos
        return torch.cat([even.unsqueeze(-1), odd.unsqueeze(-1)], dim=-1).flatten(-2)


class SiLU(nn.Module):
    def forward(self, a):
        return a * torch.sigmoid(a)


def softmax(x, dim):
    top, indices = torch.max(x, dim=dim, keepdim=True)
    return torch.exp(x - top) / torch.sum(torch.exp(x - top), dim=dim, keepdim=True)


def scores(q, k, v, host_mask):
    mask = host_mask.to(q.device)
    raw = torch.einsum("bhqd,bhkd->bhqk", q, k)
    scaled = raw / torch.sqrt(torch.tensor(q.shape[-1], device=q.device))
    scaled.masked_fill_(~mask.to(torch.bool), float("-inf"))
    p = softmax(scaled, -1)
    return torch.einsum("bhqk,bhkd->bhqd", p, v)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = Linear(WIDTH, WIDTH)
        self.k = Linear(WIDTH, WIDTH)
        self.v = Linear(WIDTH, WIDTH)
        self.o = Linear(WIDTH, WIDTH)
        self.rotary = Rotary(WIDTH // HEADS)
        self.mask = torch.tril(torch.ones(LENGTH, LENGTH))

    def forward(self, x):
        b, t, d = x.shape
        q = self.q(x)
        k = self.k(x)
        v = self.v(x)
        q = q.reshape(b, t, HEADS, d // HEADS).transpose(1, 2)
        k = k.reshape(b, t, HEADS, d // HEADS).transpose(1, 2)
        v = v.reshape(b, t, HEADS, d // HEADS).transpose(1, 2)
        q = self.rotary(q)
        k = self.rotary(k)
        out = scores(q, k, v, self.mask)
        out = out.permute(0, 2, 1, 3).reshape(b, t, d)
        return self.o(out)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Linear(WIDTH, FF)
        self.down = Linear(FF, WIDTH)
        self.up = Linear(WIDTH, FF)
        self.silu = SiLU()

    def forward(self, x):
        a = self.gate(x)
        g = self.silu(a)
        u = self.up(x)
        h = g * u
        return self.down(h)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = RMSNorm()
        self.norm2 = RMSNorm()
        self.attention = Attention()
        self.ff = FeedForward()

    def forward(self, x):
        a = self.norm1(x)
        b = self.attention(a)
        y = x + b
        c = self.norm2(y)
        e = self.ff(c)
        return y + e


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = Embedding()
        self.layers = nn.ModuleList([Layer() for i in range(LAYERS)])
        self.norm = RMSNorm()
        self.head = Linear(WIDTH, VOCAB)

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        return self.head(x)


def model():
    return LM()


def batch(n):
    return torch.randint(0, VOCAB, (n, LENGTH)), ()


def loss(output, target):
    return output.mean()


def train_step(model, optimizer, scaler, inputs, targets):
    model(inputs)
    return None


defaults = dict(batch=10, steps=3, data="once")
