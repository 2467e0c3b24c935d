# The net of batch_norm_act.py with InPlace-ABN: batch norm and leaky ReLU overwrite the convolution's result.
#
# Lesson: the leaky ReLU can be inverted, so backward computes from the result what the batch norm needs. One large
# tensor of each triple is kept instead of three; the price is the inversion in backward. (Rota Bulo, Porzi, Kontschieder:
# In-Place Activated BatchNorm for Memory-Optimized Training of DNNs, 2018.)
import torch
import torch.nn as nn
import torch.nn.functional as F


class InPlaceABNFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, running_mean, running_var, training, momentum, eps, slope):
        if training:
            mean = x.mean((0, 2, 3))
            var = x.var((0, 2, 3), unbiased=False)
            count = x.numel() // x.size(1)
            running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
            running_var.mul_(1 - momentum).add_(var, alpha=momentum * count / (count - 1))
        else:
            mean, var = running_mean, running_var
        invstd = torch.rsqrt(var + eps)
        x.sub_(mean[:, None, None]).mul_((invstd * weight)[:, None, None]).add_(bias[:, None, None])
        F.leaky_relu_(x, slope)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x, invstd, weight, bias)
        ctx.training = training
        ctx.slope = slope
        return x

    @staticmethod
    def backward(ctx, grad):
        z, invstd, weight, bias = ctx.saved_tensors
        grad = torch.where(z > 0, grad, grad * ctx.slope)
        # the batch norm's result, and its input as it was normalised: nothing reads z after this
        z = torch.where(z > 0, z, z / ctx.slope)
        xhat = z.sub_(bias[:, None, None]).div_(weight[:, None, None])
        grad_bias = grad.sum((0, 2, 3))
        grad_weight = (grad * xhat).sum((0, 2, 3))
        if ctx.training:
            count = z.numel() // z.size(1)
            grad = grad - (grad_bias / count)[:, None, None]
            grad.sub_(xhat.mul_((grad_weight / count)[:, None, None]))
        grad = grad * (invstd * weight)[:, None, None]
        return grad, grad_weight, grad_bias, None, None, None, None, None, None


class InPlaceABN(nn.Module):
    def __init__(self, channels, eps=1e-5, momentum=0.1, slope=0.01):
        super().__init__()
        self.eps = eps
        self.momentum = momentum
        self.slope = slope
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, x):
        return InPlaceABNFunction.apply(x, self.weight, self.bias, self.running_mean, self.running_var,
                                        self.training, self.momentum, self.eps, self.slope)


class Block(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.conv = nn.Conv2d(before, after, 3, padding=1, bias=False)
        self.abn = InPlaceABN(after)

    def forward(self, x):
        return self.abn(self.conv(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*[Block(3 if i == 0 else 32, 32) for i in range(6)])
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.blocks(x)
        return self.fc(x.mean((2, 3)))


def model():
    return Net()


def batch(n):
    return torch.randn(n, 3, 64, 64), torch.randint(0, 10, (n,))


defaults = dict(batch=16, steps=2)
