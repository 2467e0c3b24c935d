# Every spelling of amp: autocast as a decorator and as a context, custom_fwd, custom_bwd, a scaler that is off.
import torch
import torch.nn as nn
from torch.amp import custom_bwd, custom_fwd


class Square(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * 2 * x


class Product(torch.autograd.Function):
    @staticmethod
    @torch.cuda.amp.custom_fwd
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a.mm(b)

    @staticmethod
    @torch.cuda.amp.custom_bwd
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad.mm(b.t()), a.t().mm(grad)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.w = nn.Parameter(torch.ones(8, 4))

    @torch.autocast(device_type="cuda")
    def forward(self, x):
        x = self.fc(x)
        with torch.autocast("cuda", enabled=False):
            x = x.float() * 2
        with torch.amp.autocast("cuda", dtype=torch.float16, cache_enabled=False):
            x = self.fc(x)
        x = Square.apply(x)
        return Product.apply(x, self.w)


scaler = torch.amp.GradScaler("cuda", enabled=True)
off = torch.cuda.amp.GradScaler(enabled=False)


def model():
    return Net()


def batch(n):
    return torch.randn(n, 8), torch.randint(0, 4, (n,))


def train_step(model, optimizer, scaler, inputs, targets):
    with torch.cuda.amp.autocast(enabled=True):
        output = model(inputs)
        loss = nn.functional.cross_entropy(output, targets)
    off.scale(loss).backward()
    off.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    off.step(optimizer)
    off.update()
    return loss
