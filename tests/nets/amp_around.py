# Autocast around a whole step: the backward run and the optimizer are inside, so their products are cast too, and the copies of
# the weights go when the step is over.
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.q = nn.Linear(8, 16)
        self.k = nn.Linear(8, 16)
        self.v = nn.Linear(8, 16)
        self.last = nn.LayerNorm(16)
        self.head = nn.Linear(16, 5, bias=False)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x))).flatten(2).transpose(1, 2)
        scores = torch.einsum("bqd,bkd->bqk", self.q(x), self.k(x)) / 4.0
        weights = torch.exp(scores - scores.max(dim=-1, keepdim=True)[0])
        weights = weights / weights.sum(dim=-1, keepdim=True)
        x = self.last(torch.bmm(weights, self.v(x)))
        return self.head(x.mean(1))


class Adam:
    def __init__(self, params):
        self.params = list(params)
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]

    @torch.no_grad()
    def step(self):
        for i in range(len(self.params)):
            p = self.params[i]
            self.m[i] = 0.9 * self.m[i] + 0.1 * p.grad
            self.v[i] = 0.99 * self.v[i] + 0.01 * p.grad ** 2
            p.data = p.data - 0.001 * (self.m[i] / (torch.sqrt(self.v[i]) + 1e-8))

    def zero_grad(self, set_to_none=True):
        for p in self.params:
            p.grad = None


def model():
    return Net()


def optimizer(model):
    return Adam(model.parameters())


def batch(n):
    return torch.randn(n, 3, 8, 8), torch.randint(0, 5, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
            logp = torch.log_softmax(model(inputs), -1)
            (-logp.gather(1, targets.unsqueeze(1)).mean()).backward()
        optimizer.step()
    return loss


defaults = dict(batch=4, steps=2)
