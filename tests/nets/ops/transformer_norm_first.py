# Stacks of layers that normalise first, time before the batch.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 32)
        layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.2, activation="gelu", norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(32))
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(32, 4, 64, norm_first=True, bias=False), 2)
        self.fc = nn.Linear(32, 5)

    def forward(self, inputs):
        x = self.embed(inputs).transpose(0, 1)
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[0], device=x.device, dtype=x.dtype)
        memory = self.encoder(x, mask, is_causal=False)
        y = self.decoder(x, memory, tgt_is_causal=False, memory_mask=mask)
        return self.fc(y[-1])


def model():
    return Net()


def batch(n):
    return torch.randint(0, 20, (n, 6)), torch.randint(0, 5, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=2, steps=2)
