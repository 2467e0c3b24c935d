"""tests/programs/toggles/encoder.py - a language model of transformer blocks: embedding, attention, dropout."""
import hand
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width),
                                 nn.Dropout(0.1, inplace=hand.inplace))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 128)
        self.blocks = nn.ModuleList(Block(128, 4) for _ in range(3))
        self.head = nn.Linear(128, 1000, bias=False)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        for block in self.blocks:
            x = hand.block(block, x)
        return nn.functional.cross_entropy(self.head(x).flatten(0, 1), targets.flatten())


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, i):
        return torch.arange(64) % 1000, (torch.arange(64) + 1) % 1000


def main():
    model = Model()
    model = hand.model(model, model.embed).cuda()
    optimizer = hand.optimizer(torch.optim.AdamW, model.parameters(), lr=3e-4)
    part = 0
    for tokens, targets in torch.utils.data.DataLoader(Tokens(), batch_size=hand.batch(8)):
        with hand.autocast():
            loss = hand.forward(model, tokens.cuda(), targets.cuda())
        hand.scale(loss).backward()
        part += 1
        if part == hand.parts:
            part = 0
            hand.step(optimizer)
            optimizer.zero_grad(**hand.zero)


main()
