# embedding_bag_weights: nn.EmbeddingBag(30, 8, mode="sum"), with weights that are trained
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = nn.EmbeddingBag(30, 8, mode="sum")
        self.w = nn.Parameter(torch.randn(4, 6))

    def forward(self, inputs):
        return self.op(inputs, per_sample_weights=self.w * 2)


def model():
    return Net()


def batch(n):
    return torch.randint(0, 30, (4, 6)), torch.randn(4, 8)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=4, steps=2)
