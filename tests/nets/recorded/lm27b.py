# A 32-layer language model with hand-written ops, weights on the left of every product, rotary by writing into slices: the program
# of a recording on a GPU (lm27b_train_ctx512), one forward, backward and the first step of AdamW, after a run without it. Written from
# the recording's stacks and sizes.
import math

import torch
import torch.nn as nn

VOCAB = 10000
WIDTH = 2560
LAYERS = 32
HEADS = 32
FF = 10240
LENGTH = 512


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(VOCAB, WIDTH))

    def forward(self, ids):
        return self.weight[ids]


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        rms = torch.sqrt(norm ** 2 / WIDTH + 1e-5)
        return torch.einsum("d,btd->btd", self.weight, x / rms)


class Linear(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features_out, features_in) * 0.02)

    def forward(self, x):
        return torch.einsum("oi,bti->bto", self.weight, x)


class Rotary(nn.Module):
    def __init__(self, width):
        super().__init__()
        rate = 10000.0 ** (torch.arange(0, width, 2).float() / -width)
        angle = torch.arange(LENGTH).float().unsqueeze(1) * rate
        self.register_buffer("cos", torch.cos(angle))
        self.register_buffer("sin", torch.sin(angle))

    def forward(self, x, positions):
        cos = self.cos[positions].unsqueeze(1)
        sin = self.sin[positions].unsqueeze(1)
        b, h, t, d = x.shape
        pairs = x.reshape(b, h, t, d // 2, 2)
        out = torch.zeros_like(pairs)
        out[..., 0] = pairs[..., 0] * cos - pairs[..., 1] * sin
        out[..., 1] = pairs[..., 0] * sin + pairs[..., 1] * cos
        return out.reshape(b, h, t, d)


def softmax(x, dim):
    top = torch.max(x, dim=dim, keepdim=True)[0]
    exponent = torch.exp(x - top)
    total = torch.sum(exponent, dim=dim, keepdim=True)
    return exponent / total


def attention(q, k, v, mask):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
    scores = scores / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = softmax(scores, -1)
    return torch.einsum("bhqk,bhkd->bhqd", weights, v)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = Linear(WIDTH, WIDTH)
        self.k = Linear(WIDTH, WIDTH)
        self.v = Linear(WIDTH, WIDTH)
        self.o = Linear(WIDTH, WIDTH)
        self.rotary = Rotary(WIDTH // HEADS)

    def forward(self, x):
        b, t, d = x.shape
        made_q = self.q(x)
        made_k = self.k(x)
        made_v = self.v(x)
        q = made_q.reshape(b, t, HEADS, d // HEADS).transpose(1, 2)
        k = made_k.reshape(b, t, HEADS, d // HEADS).transpose(1, 2)
        v = made_v.reshape(b, t, HEADS, d // HEADS).transpose(1, 2)
        positions = torch.arange(t, device=x.device).unsqueeze(0).expand(b, t)
        q = self.rotary(q, positions)
        k = self.rotary(k, positions)
        mask = torch.triu(torch.ones(t, t, device=x.device), diagonal=1).bool()
        mask = ~mask
        mask = mask.unsqueeze(0).unsqueeze(0).expand(b, HEADS, t, t)
        out = attention(q, k, v, mask)
        out = out.transpose(1, 2).reshape(b, t, d)
        return self.o(out)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = Linear(WIDTH, FF)
        self.w2 = Linear(FF, WIDTH)
        self.w3 = Linear(WIDTH, FF)

    def forward(self, x):
        a = self.w1(x)
        b = self.w3(x)
        silu = torch.sigmoid(a) * a
        h = silu * b
        return self.w2(h)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = RMSNorm()
        self.attn = Attention()
        self.norm2 = RMSNorm()
        self.ffn = FeedForward()

    def forward(self, x):
        out = self.norm1(x)
        out = self.attn(out)
        y = x + out
        out = self.norm2(y)
        out = self.ffn(out)
        return y + out


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = Embedding()
        self.layers = nn.ModuleList([Layer() for i in range(LAYERS)])
        self.norm = RMSNorm()
        self.head = Linear(WIDTH, VOCAB)

    def forward(self, x):
        x = self.embedding(x)
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        return self.head(x)


def loss(logits, targets):
    logits = logits.reshape(-1, VOCAB)
    targets = targets.reshape(-1)
    top = torch.max(logits, dim=-1, keepdim=True)[0]
    logits = logits - top
    exponent = torch.exp(logits)
    total = torch.sum(exponent, dim=-1)
    chosen = logits[torch.arange(targets.shape[0]), targets]
    each = torch.log(total) - chosen
    return each.mean()


class AdamW:
    # In place; the state is made in the first step. warm: the run before the recording is over.
    def __init__(self, params, lr, beta1, beta2, eps, decay):
        self.params = list(params)
        self.state = [{} for p in self.params]
        self.lr = lr
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps
        self.decay = decay
        self.warm = False

    @torch.no_grad()
    def step(self):
        for i in range(len(self.params)):
            p = self.params[i]
            state = self.state[i]
            grad = p.grad
            if "m" not in state:
                state["m"] = torch.zeros_like(p)
                state["v"] = torch.zeros_like(p)
                state["t"] = 0
            m = state["m"]
            v = state["v"]
            state["t"] = state["t"] + 1
            t = state["t"]
            p.mul_(1 - self.lr * self.decay)
            m.mul_(self.beta1).add_(grad, alpha=1 - self.beta1)
            v.mul_(self.beta2).addcmul_(grad, grad, value=1 - self.beta2)
            rate = self.lr * math.sqrt(1 - self.beta2 ** t) / (1 - self.beta1 ** t)
            change = m / v.sqrt().add_(self.eps)
            p.add_(change, alpha=-rate)

    def zero_grad(self, set_to_none=True):
        for p in self.params:
            p.grad = None


def model():
    return LM()


def optimizer(model):
    return AdamW(model.parameters(), 0.001, 0.9, 0.999, 1e-8, 0.01)


def batch(n):
    return torch.randint(0, VOCAB, (n, LENGTH)), torch.randint(0, VOCAB, (n, LENGTH))


def train_step(model, optimizer, scaler, inputs, targets):
    logits = model(inputs)
    l = loss(logits, targets)
    l.backward()
    if optimizer.warm:
        optimizer.step()
    optimizer.zero_grad()
    optimizer.warm = True
    return None


defaults = dict(batch=4, steps=2, data="once")
