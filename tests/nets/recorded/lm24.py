# A 24-layer language model with hand-written ops, loss and AdamW, gradients cleared: the program of a recording on a GPU
# (lm24_train_step_ctx128), which holds its sixth step. Written from the recording's stacks and sizes. With TRAIN = False and
# LENGTH = 1024 it is that of lm24_infer_ctx1024: one forward in inference mode, after others.
import math

import torch
import torch.nn as nn

VOCAB = 10000
WIDTH = 1024
LAYERS = 24
HEADS = 16
FF = 4096
LENGTH = 128
TRAIN = True


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
        rms = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        x = x * rms
        return self.weight * x


class Linear(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features_out, features_in) * 0.02)

    def forward(self, x):
        return torch.einsum("bti,oi->bto", x, self.weight)


class Rotary(nn.Module):
    def __init__(self, width):
        super().__init__()
        rate = 10000.0 ** (torch.arange(0, width, 2).float() / -width)
        angle = torch.arange(LENGTH).float().unsqueeze(1) * rate
        self.register_buffer("sin", torch.sin(angle))
        self.register_buffer("cos", torch.cos(angle))

    def forward(self, x):
        b, h, t, d = x.shape
        x1, x2 = x.reshape(b, h, t, d // 2, 2).permute(4, 0, 1, 2, 3).unbind(0)
        sin = self.sin[:t]
        cos = self.cos[:t]
        even = cos * x1 - sin * x2
        odd = sin * x1 + cos * x2
        return torch.cat([even.unsqueeze(-1), odd.unsqueeze(-1)], dim=-1).flatten(-2)


def softmax(x, dim):
    rescaled = x - torch.max(x, dim=dim, keepdim=True)[0]
    exponentiated = torch.exp(rescaled)
    return exponentiated / torch.sum(exponentiated, dim=dim, keepdim=True)


def attention(q, k, v, mask):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(q.shape[-1])
    scores = torch.where(mask, scores, float("-inf"))
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
        q = self.q(x)
        k = self.k(x)
        v = self.v(x)
        q = q.reshape(b, t, HEADS, d // HEADS).transpose(1, 2)
        k = k.reshape(b, t, HEADS, d // HEADS).transpose(1, 2)
        v = v.reshape(b, t, HEADS, d // HEADS).transpose(1, 2)
        q = self.rotary(q)
        k = self.rotary(k)
        at = torch.arange(t, device=x.device)
        mask = at.reshape(1, 1, t, 1) >= at.reshape(1, 1, 1, t)
        out = attention(q, k, v, mask)
        out = out.permute(0, 2, 1, 3).reshape(b, t, d)
        return self.o(out)


def silu(x):
    return x * torch.sigmoid(x)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = Linear(WIDTH, FF)
        self.w2 = Linear(FF, WIDTH)
        self.w3 = Linear(WIDTH, FF)

    def forward(self, x):
        return self.w2(silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = Attention()
        self.ffn = FeedForward()
        self.norm1 = RMSNorm()
        self.norm2 = RMSNorm()

    def forward(self, x):
        a = self.attn(self.norm1(x))
        y = x + a
        f = self.ffn(self.norm2(y))
        z = y + f
        return z


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = Embedding()
        self.layers = nn.ModuleList([Layer() for i in range(LAYERS)])
        self.norm = RMSNorm()
        self.head = Linear(WIDTH, VOCAB)

    def forward(self, x):
        first = self.embedding(x)
        x = first
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        return self.head(x)


def log_softmax(x, dim):
    top = torch.max(x, dim=dim, keepdim=True)[0]
    x = x - top
    return x - torch.log(torch.sum(torch.exp(x), dim=dim, keepdim=True))


def loss(inputs, targets):
    negative = -log_softmax(inputs, -1)
    return torch.mean(torch.gather(negative, -1, targets.unsqueeze(-1)))


class AdamW:
    # A default that is looked up is made even where it is not needed: two zeros come and go at once.
    def __init__(self, params, lr, beta1, beta2, eps, decay):
        self.params = list(params)
        self.state = [{} for p in self.params]
        self.lr = lr
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps
        self.decay = decay

    @torch.no_grad()
    def step(self):
        for i in range(len(self.params)):
            p = self.params[i]
            state = self.state[i]
            grad = p.grad
            t = state.get("t", 1)
            rate = self.lr * math.sqrt(1 - self.beta2 ** t) / (1 - self.beta1 ** t)
            p.data -= self.lr * self.decay * p.data
            old_m = state.get("m", torch.zeros_like(grad))
            old_v = state.get("v", torch.zeros_like(grad))
            m = self.beta1 * old_m + (1 - self.beta1) * grad
            v = self.beta2 * old_v + (1 - self.beta2) * torch.square(grad)
            p.data -= rate * m / (torch.sqrt(v) + self.eps)
            state["t"] = t + 1
            state["m"] = m
            state["v"] = v

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
    if not TRAIN:
        with torch.inference_mode():
            logits = model(inputs)
        return None
    logits = model(inputs)
    l = loss(logits, targets)
    l.backward()
    optimizer.step()
    optimizer.zero_grad()
    return None


defaults = dict(batch=4, steps=6, data="once")
