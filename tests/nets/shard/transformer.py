# The transformer whose memory PyTorch's own test of fully_shard bounds: three blocks, short sequences.
import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH = 768
HEADS = 12
BLOCKS = 3
VOCAB = 32
POSITIONS = 16
TOKENS = 4
DROPOUT = 0.1


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(DROPOUT)
        self.wq = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wk = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wv = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wo = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q = self.wq(x).view(b, t, HEADS, -1).transpose(1, 2)
        k = self.wk(x).view(b, t, HEADS, -1).transpose(1, 2)
        v = self.wv(x).view(b, t, HEADS, -1).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=DROPOUT if self.training else 0.0, is_causal=True)
        return self.dropout(self.wo(y.transpose(1, 2).reshape(b, t, d)))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(WIDTH, 4 * WIDTH)
        self.w2 = nn.Linear(4 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x):
        return self.dropout(self.w2(F.gelu(self.w1(x))))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.ffn_norm = nn.LayerNorm(WIDTH)
        self.feed_forward = FeedForward()

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCAB, WIDTH)
        self.pos_embeddings = nn.Embedding(POSITIONS, WIDTH)
        self.dropout = nn.Dropout(DROPOUT)
        self.layers = nn.ModuleList([Block() for i in range(BLOCKS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.output = nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, ids):
        positions = torch.arange(0, ids.shape[1], device=ids.device)
        x = self.dropout(self.tok_embeddings(ids) + self.pos_embeddings(positions))
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x)).float()


def model():
    return Transformer()


def batch(n):
    ids = torch.randint(0, VOCAB, (n, TOKENS))
    return ids, ids


def loss(output, target):
    return output.sum()


defaults = dict(batch=1, optimizer="adam", foreach="off", shard="fsdp", world=2, steps=2)
