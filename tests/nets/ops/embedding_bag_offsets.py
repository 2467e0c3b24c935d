# embedding_bag_offsets: nn.EmbeddingBag(30, 8, mode="sum", include_last_offset=True), with an empty bag
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = nn.EmbeddingBag(30, 8, mode="sum", include_last_offset=True)
        self.register_buffer("offsets", torch.tensor([0, 3, 3, 10, 24]))

    def forward(self, inputs):
        return self.op(inputs, self.offsets)


def model():
    return Net()


def batch(n):
    return torch.randint(0, 30, (n * 6,)), torch.randn(4, 8)


def loss(output, target):
    return (output * target).sum()


defaults = dict(batch=4, steps=2)
