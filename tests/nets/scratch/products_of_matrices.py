# Every kind of matrix product.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.zeros(64, 128))
        self.b = nn.Parameter(torch.zeros(128, 96))
        self.c = nn.Parameter(torch.zeros(8, 64, 128))
        self.d = nn.Parameter(torch.zeros(8, 128, 32))
        self.e = nn.Parameter(torch.zeros(8, 64, 128))
        self.f = nn.Parameter(torch.zeros(8, 128, 32))
        self.v = nn.Parameter(torch.zeros(128))
        self.w = nn.Parameter(torch.zeros(96))
        self.one = nn.Parameter(torch.zeros(1, 128))

    def forward(self, inputs):
        out = [self.a @ self.b, torch.bmm(self.c, self.d), self.a @ self.v, self.v @ self.v, self.c @ self.b, torch.addmm(self.w, self.a, self.b)]
        out += [torch.addmm(self.w, self.a, self.b, beta=0.5), torch.addmm(self.w, self.a, self.b, alpha=0.5), torch.addmm(self.w, self.one, self.b), F.linear(self.a, self.b.t(), self.w)]
        out += [torch.addmm(self.a @ self.b, self.a, self.b), torch.baddbmm(self.c @ self.d, self.c, self.d), F.linear(self.c, self.b.t(), self.w), F.linear(self.one, self.b.t(), self.w)]
        out += [torch.einsum("bij,bjk->bik", self.e, self.f), torch.einsum("ij,jk->ik", self.a, self.b), F.linear(self.c.transpose(0, 1), self.b.t(), self.w), torch.addmm(self.w[:1], self.a, self.b)]
        out += [self.a @ self.b[:, :1], self.a[:1] @ self.b, F.linear(self.a, self.b[:, :1].t(), self.w[:1]), torch.outer(self.v, self.w)]
        return out


def model():
    return Net()


def batch(n):
    return torch.zeros(n), torch.zeros(1)


def loss(output, target):
    return sum(o.sum() for o in output)


defaults = dict(batch=2, steps=1)
