# lang/prelude/nn_utils.py - torch.nn.utils: clipping gradients; folding batch norms into convolutions.
#
# For:       net files with a train_step; evaluation.py.
# Invariant: a norm is one small tensor per gradient, then one stacked vector, then the total; gradients are
#            scaled in place.
import copy

import torch
from torch.nn import Parameter
from torch.optim import _buckets


def _on_device(tensors):
    return all([t.is_cuda for t in tensors])


@torch.no_grad()
def _total_norm(tensors, error_if_nonfinite, foreach):
    if len(tensors) == 0:
        return torch.tensor(0.0)
    first_device = tensors[0].device
    grouped_tensors = _buckets([tensors])
    norms = []
    for device_tensors, indices in grouped_tensors:
        if foreach or (foreach is None and _on_device(device_tensors)):
            norms.extend(torch._foreach_norm(device_tensors))
        else:
            norms.extend([torch._op._vector_norm(g) for g in device_tensors])
    total_norm = torch._op._vector_norm(torch.stack([norm.to(first_device) for norm in norms]))
    if error_if_nonfinite and torch.logical_or(total_norm.isnan(), total_norm.isinf()):
        raise RuntimeError(
            "The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`")
    return total_norm


@torch.no_grad()
def _scale_to(parameters, max_norm, total_norm, foreach):
    grads = [p.grad for p in parameters if p.grad is not None]
    if len(grads) == 0:
        return
    grouped_grads = _buckets([grads])
    clip_coef = max_norm / (total_norm + 1e-6)
    clip_coef_clamped = torch.clamp(clip_coef, max=1.0)
    for device_grads, indices in grouped_grads:
        if foreach or (foreach is None and _on_device(device_grads)):
            torch._foreach_mul_(device_grads, clip_coef_clamped.to(device_grads[0].device))
        else:
            clip_coef_clamped_device = clip_coef_clamped.to(device_grads[0].device)
            for g in device_grads:
                g.mul_(clip_coef_clamped_device)


@torch.no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    if norm_type != 2:
        raise NotImplementedError(f"clip_grad_norm_: norm_type={norm_type} is not supported here; use norm_type=2")
    if isinstance(parameters, torch.Tensor):
        parameters = [parameters]
    else:
        parameters = list(parameters)
    grads = [p.grad for p in parameters if p.grad is not None]
    total_norm = _total_norm(grads, error_if_nonfinite, foreach)
    _scale_to(parameters, float(max_norm), total_norm, foreach)
    return total_norm


@torch.no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    if isinstance(parameters, torch.Tensor):
        parameters = [parameters]
    clip_value = float(clip_value)
    grads = [p.grad for p in parameters if p.grad is not None]
    for grad in grads:
        grad.clamp_(min=-clip_value, max=clip_value)


# ---- folding batch norms ----


def fuse_conv_bn_eval(conv, bn, transpose=False):
    assert not (conv.training or bn.training), "Fusion only for eval!"
    fused_conv = copy.deepcopy(conv)
    assert bn.running_mean is not None and bn.running_var is not None
    fused_conv.weight, fused_conv.bias = fuse_conv_bn_weights(
        fused_conv.weight, fused_conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose)
    return fused_conv


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    conv_weight_dtype = conv_w.dtype
    conv_bias_dtype = conv_b.dtype if conv_b is not None else conv_weight_dtype
    if conv_b is None:
        conv_b = torch.zeros_like(bn_rm)
    if bn_w is None:
        bn_w = torch.ones_like(bn_rm)
    if bn_b is None:
        bn_b = torch.zeros_like(bn_rm)
    bn_var_rsqrt = torch.rsqrt(bn_rv + bn_eps)
    if transpose:
        shape = [1, -1] + [1] * (len(conv_w.shape) - 2)
    else:
        shape = [-1, 1] + [1] * (len(conv_w.shape) - 2)
    fused_conv_w = (conv_w * (bn_w * bn_var_rsqrt).reshape(shape)).to(dtype=conv_weight_dtype)
    fused_conv_b = ((conv_b - bn_rm) * bn_var_rsqrt * bn_w + bn_b).to(dtype=conv_bias_dtype)
    return Parameter(fused_conv_w, conv_w.requires_grad), Parameter(fused_conv_b, conv_b.requires_grad)
