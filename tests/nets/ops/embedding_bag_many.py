# embedding_bag_many: nn.EmbeddingBag(300, 64)
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = nn.EmbeddingBag(300, 64)

    def forward(self, inputs):
        return self.op(inputs)


def model():
    return Net()


def batch(n):
    return torch.randint(0, 300, (n, 1000)), torch.randn(n, 64)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=4, steps=2)
