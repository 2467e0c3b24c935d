# A language model of residual blocks without attention, whose tensors between the blocks can be split by the sequence:
# it names no size of it.
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = 96
WIDTH = 32
TOKENS = 24


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def model():
    return nn.Sequential(nn.Embedding(VOCAB, WIDTH), Block(), Block(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB))


def batch(n):
    return torch.randint(0, VOCAB, (n, TOKENS)), torch.randint(0, VOCAB, (n * TOKENS,))


def loss(output, target):
    return F.cross_entropy(output.flatten(0, 1), target)


defaults = dict(batch=3, optimizer="adamw", foreach="off", steps=2)
