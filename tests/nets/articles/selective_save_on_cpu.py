# Selective checkpointing under save_on_cpu: what autograd saves goes to the host, what the policy saves does not.
import functools

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

ops_to_save = [
    torch.ops.aten.mm.default,
    torch.ops.aten.addmm.default,
    torch.ops.aten._scaled_dot_product_flash_attention.default,
    torch.ops.aten._scaled_dot_product_efficient_attention.default,
]
context_fn = functools.partial(create_selective_checkpoint_contexts, ops_to_save)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width, bias=False)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        n, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(n, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(n, length, width)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.blocks = nn.ModuleList([Block(64, 4) for _ in range(3)])
        self.head = nn.Linear(64, 100)

    def forward(self, x):
        x = self.embed(x)
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False, context_fn=context_fn)
        return self.head(x)


def model():
    return Net()


def loss(output, targets):
    return F.cross_entropy(output.flatten(0, 1), targets.flatten())


def batch(n):
    return torch.randint(0, 100, (n, 32)), torch.randint(0, 100, (n, 32))


defaults = dict(batch=8, steps=2)
