# A small Llama, with the module names and the structure that torchtitan's plan for tensor and sequence parallelism is
# written for: attention and feed-forward parts get their input normed, and add nothing themselves.
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 96
WIDTH = 64
HEAD = 8
TOKENS = 16


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wk = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wv = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wo = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        q = q.view(b, t, -1, HEAD).transpose(1, 2)
        k = k.view(b, t, -1, HEAD).transpose(1, 2)
        v = v.view(b, t, -1, HEAD).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).contiguous()
        return self.wo(y.view(b, t, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.w2 = nn.Linear(4 * WIDTH, WIDTH, bias=False)
        self.w3 = nn.Linear(WIDTH, 4 * WIDTH, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.feed_forward = FeedForward()
        self.attention_norm = nn.RMSNorm(WIDTH)
        self.ffn_norm = nn.RMSNorm(WIDTH)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCAB, WIDTH)
        self.dropout = nn.Dropout(0.1)
        self.layers = nn.ModuleList([Block(), Block()])
        self.norm = nn.RMSNorm(WIDTH)
        self.output = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, tokens):
        h = self.dropout(self.tok_embeddings(tokens))
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h))


def model():
    return Llama()


def batch(n):
    return torch.randint(0, VOCAB, (n, TOKENS)), torch.randint(0, VOCAB, (n * TOKENS,))


def loss(output, target):
    return F.cross_entropy(output.flatten(0, 1).float(), target)


defaults = dict(batch=3, optimizer="adamw", foreach="off", steps=2)
