# Both stacks of a transformer, with masks of both kinds.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 32)
        self.t = nn.Transformer(32, 4, 2, 1, 48, dropout=0.0, batch_first=True)
        self.fc = nn.Linear(32, 5)

    def forward(self, inputs):
        x = self.embed(inputs)
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device, dtype=x.dtype)
        y = self.t(x, x, tgt_mask=mask, tgt_is_causal=True, src_key_padding_mask=inputs > 17, memory_key_padding_mask=inputs > 17)
        return self.fc(y[:, -1])


def model():
    return Net()


def batch(n):
    return torch.randint(0, 20, (n, 6)), torch.randint(0, 5, (n,))


def loss(output, target):
    return F.cross_entropy(output, target)


defaults = dict(batch=2, steps=2)
