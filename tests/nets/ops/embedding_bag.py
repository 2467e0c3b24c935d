# embedding_bag: nn.EmbeddingBag(30, 8)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = nn.EmbeddingBag(30, 8)

    def forward(self, inputs):
        return self.op(inputs)


def model():
    return Net()


def batch(n):
    return torch.randint(0, 30, (n, 6)), torch.randn(n, 8)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=4, steps=2)
