# lang/prelude/evaluation.py - changes that are for evaluation alone: batch norms folded into convolutions, 8-bit
# weights.
#
# For:       toggles.py.
# Invariant: a model is changed on the host, before it moves to the device; what runs afterwards is ordinary PyTorch.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import fuse_conv_bn_eval


def fuse(model):
    # each convolution whose next sibling is a batch norm over its channels; returns how many
    model.eval()
    count = 0
    for parent in list(model.modules()):
        children = list(parent.named_children())
        for i in range(len(children) - 1):
            name, conv = children[i]
            next_name, norm = children[i + 1]
            if _can_fuse(conv, norm):
                setattr(parent, name, fuse_conv_bn_eval(conv, norm))
                setattr(parent, next_name, nn.Identity())
                count += 1
    return count


def _can_fuse(conv, norm):
    return (isinstance(conv, (nn.Conv1d, nn.Conv2d, nn.Conv3d))
            and isinstance(norm, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))
            and norm.num_features == conv.out_channels and norm.running_mean is not None)


def quantize(model):
    # the weights of linear layers and convolutions as 8-bit numbers; returns how many modules
    count = 0
    for parent in list(model.modules()):
        if isinstance(parent, nn.MultiheadAttention):
            continue  # reads the weight of its child itself
        for name, child in list(parent.named_children()):
            if type(child) is nn.Linear:
                setattr(parent, name, QuantizedLinear(child))
                count += 1
            elif type(child) is nn.Conv2d and child.padding_mode == "zeros":
                setattr(parent, name, QuantizedConv2d(child))
                count += 1
    return count


def _quantized(weight):
    # one scale for each output channel; 128 stands for 0
    w = weight.detach()
    scale = (w.abs().amax(tuple(range(1, w.dim())), keepdim=True) / 127).clamp(min=1e-12)
    return ((w / scale).round() + 128).to(torch.uint8), scale


class QuantizedLinear(nn.Module):
    def __init__(self, linear):
        super().__init__()
        weight, scale = _quantized(linear.weight)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.bias = linear.bias

    def forward(self, input):
        return F.linear(input, (self.weight.to(input.dtype) - 128) * self.scale, self.bias)


class QuantizedConv2d(nn.Module):
    def __init__(self, conv):
        super().__init__()
        weight, scale = _quantized(conv.weight)
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)
        self.bias = conv.bias
        self.stride = conv.stride
        self.padding = conv.padding
        self.dilation = conv.dilation
        self.groups = conv.groups

    def forward(self, input):
        return F.conv2d(input, (self.weight.to(input.dtype) - 128) * self.scale, self.bias, self.stride, self.padding,
                        self.dilation, self.groups)
