# lang/prelude/functional.py - torch.nn.functional: functions that run Python code before the op, or several ops.
#
# For:       net files and the modules of nn_*.py. Everything else of torch.nn.functional is a row of the
#            op table, bound here under its own name.
# Invariant: the same ops in the same order, held by the same names, as PyTorch's functions.
#
# torch._op is the op table itself: torch._op.relu is the row, relu below is PyTorch's function.
import math

import torch


def _conv(op, input, weight, bias, stride, padding, dilation, groups):
    if padding == "valid":
        padding = 0
    if padding != "same":
        return op(input, weight, bias, stride, padding, dilation, groups)
    # the side with one more element is padded in a copy, the rest by the op
    dims = weight.dim() - 2
    totals = []
    for i in range(dims):
        d = dilation if isinstance(dilation, int) else dilation[i]
        totals.append(d * (weight.shape[i + 2] - 1))
    sides = []
    for i in range(dims - 1, -1, -1):
        sides = sides + [0, totals[i] % 2]
    if any([total % 2 == 1 for total in totals]):
        input = torch._op._constant_pad_nd(input, sides, 0)
    return op(input, weight, bias, stride, [total // 2 for total in totals], dilation, groups)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _conv(torch._op.conv1d, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _conv(torch._op.conv2d, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _conv(torch._op.conv3d, input, weight, bias, stride, padding, dilation, groups)


def pad(input, pad, mode="constant", value=None):
    if mode == "constant":
        return torch._op._constant_pad_nd(input, pad, 0.0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = input.dim()
    if len(pad) == 2 and (dims == 2 or dims == 3):
        if mode == "reflect":
            return torch._op._reflection_pad1d(input, pad)
        if mode == "replicate":
            return torch._op._replication_pad1d(input, pad)
    if len(pad) == 4 and (dims == 3 or dims == 4):
        if mode == "reflect":
            return torch._op._reflection_pad2d(input, pad)
        if mode == "replicate":
            return torch._op._replication_pad2d(input, pad)
    if len(pad) == 6 and (dims == 4 or dims == 5):
        if mode == "reflect":
            return torch._op._reflection_pad3d(input, pad)
        if mode == "replicate":
            return torch._op._replication_pad3d(input, pad)
    raise NotImplementedError(f"F.pad: mode={mode} with {len(pad)} paddings of a {dims}D input is not supported here; "
                              "use 'constant', or 'reflect' or 'replicate' on the last one, two or three dimensions")


def _check_p(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    _check_p(p)
    if inplace:
        return torch._op._dropout_(input, p, training)
    return torch._op._dropout(input, p, training)


def _feature_dropout(input, p, training, inplace):
    if inplace:
        return torch._op._feature_dropout_(input, p, training)
    return torch._op._feature_dropout(input, p, training)


def dropout1d(input, p=0.5, training=True, inplace=False):
    _check_p(p)
    dims = input.dim()
    if dims != 2 and dims != 3:
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {dims}D input.")
    if dims == 2:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _feature_dropout(input, p, training, inplace)
    if dims == 2:
        result = result.squeeze_(0) if inplace else result.squeeze(0)
    return result


def _warn_dims(name, dims, spatial):
    torch._warn(f"{name}: Received a {dims}-D input to {name}, which is deprecated and will result in an error in a "
                "future release. To retain the behavior and silence this warning, please use dropout instead. Note"
                f" that {name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a "
                f"channel dimension, and an optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).")


def dropout2d(input, p=0.5, training=True, inplace=False):
    _check_p(p)
    dims = input.dim()
    if dims != 3 and dims != 4:
        _warn_dims("dropout2d", dims, 2)
    if dims == 3:
        torch._warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
                    "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel dim. "
                    "This behavior will change in a future release to interpret the input as one without a batch "
                    "dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please "
                    "switch to using dropout1d instead.")
    result = _feature_dropout(input, p, training, inplace)
    return result


def dropout3d(input, p=0.5, training=True, inplace=False):
    _check_p(p)
    dims = input.dim()
    if dims != 4 and dims != 5:
        _warn_dims("dropout3d", dims, 3)
    if dims == 4:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _feature_dropout(input, p, training, inplace)
    if dims == 4:
        result = result.squeeze_(0) if inplace else result.squeeze(0)
    return result


def threshold(input, threshold, value, inplace=False):
    if inplace:
        result = torch._op.threshold_(input, threshold, value)
    else:
        result = torch._op.threshold(input, threshold, value)
    return result


def relu(input, inplace=False):
    if inplace:
        result = torch._op.relu_(input)
    else:
        result = torch._op.relu(input)
    return result


relu_ = torch.relu_
threshold_ = torch.threshold_


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        result = torch._op.hardtanh_(input, min_val, max_val)
    else:
        result = torch._op.hardtanh(input, min_val, max_val)
    return result


def relu6(input, inplace=False):
    if inplace:
        result = torch._op.relu6_(input)
    else:
        result = torch._op.relu6(input)
    return result


def elu(input, alpha=1.0, inplace=False):
    if inplace:
        result = torch._op.elu_(input, alpha)
    else:
        result = torch._op.elu(input, alpha)
    return result


def selu(input, inplace=False):
    if inplace:
        result = torch._op.selu_(input)
    else:
        result = torch._op.selu(input)
    return result


def celu(input, alpha=1.0, inplace=False):
    if inplace:
        result = torch._op.celu_(input, alpha)
    else:
        result = torch._op.celu(input, alpha)
    return result


def leaky_relu(input, negative_slope=0.01, inplace=False):
    if inplace:
        result = torch._op.leaky_relu_(input, negative_slope)
    else:
        result = torch._op.leaky_relu(input, negative_slope)
    return result


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    if inplace:
        result = torch._op.rrelu_(input, lower, upper, training)
    else:
        result = torch._op.rrelu(input, lower, upper, training)
    return result


def hardsigmoid(input, inplace=False):
    if inplace:
        return torch._op.hardsigmoid_(input)
    return torch._op.hardsigmoid(input)


def silu(input, inplace=False):
    if inplace:
        return torch._op.silu_(input)
    return torch._op.silu(input)


def mish(input, inplace=False):
    if inplace:
        return torch._op.mish_(input)
    return torch._op.mish(input)


def hardswish(input, inplace=False):
    if inplace:
        return torch._op.hardswish_(input)
    return torch._op.hardswish(input)


def tanhshrink(input):
    return input - input.tanh()


def softsign(input):
    return input / (input.abs() + 1)


def _softmax_dim(name, dims):
    torch._warn(f"Implicit dimension choice for {name} has been deprecated. "
                "Change the call to include dim=X as an argument.")
    return 0 if dims == 0 or dims == 1 or dims == 3 else 1


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        dim = _softmax_dim("softmin", input.dim())
    if dtype is None:
        ret = (-input).softmax(dim)
    else:
        ret = (-input).softmax(dim, dtype=dtype)
    return ret


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        dim = _softmax_dim("softmax", input.dim())
    if dtype is None:
        ret = input.softmax(dim)
    else:
        ret = input.softmax(dim, dtype=dtype)
    return ret


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        dim = _softmax_dim("log_softmax", input.dim())
    if dtype is None:
        ret = input.log_softmax(dim)
    else:
        ret = input.log_softmax(dim, dtype=dtype)
    return ret


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    return torch._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    if p != 2:
        raise NotImplementedError(f"F.normalize: p={p} is not supported here; use p=2")
    denom = torch._op._vector_norm(input, dim, True).clamp_min(eps).expand_as(input)
    return input / denom


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0,
              scale_grad_by_freq=False, sparse=False):
    if padding_idx is None:
        padding_idx = -1
    elif padding_idx >= weight.shape[0] or padding_idx < -weight.shape[0]:
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx = weight.shape[0] + padding_idx
    if max_norm is not None:
        raise NotImplementedError("F.embedding: max_norm is not supported here; leave it out")
    if sparse:
        raise NotImplementedError("F.embedding: sparse=True is not supported here; leave it out")
    return torch._op.embedding(weight, input, padding_idx, scale_grad_by_freq)


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean",
                  sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None):
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, "
                         f"then it must have the same shape as the input ({input.shape})")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
                             "fixed length sequences")
        offsets = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        include_last_offset = False
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    elif offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if max_norm is not None:
        raise NotImplementedError("F.embedding_bag: max_norm is not supported here; leave it out")
    if sparse:
        raise NotImplementedError("F.embedding_bag: sparse=True is not supported here; leave it out")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                  f"supported for mode='sum' (got mode='{mode}').")
    ret, _, _, _ = torch._op.embedding_bag(weight, input, offsets, scale_grad_by_freq,
                                           ("sum", "mean", "max").index(mode), sparse, per_sample_weights,
                                           include_last_offset, padding_idx)
    return ret


def _check_batch(size):
    per_channel = size[0]
    for s in size[2:]:
        per_channel = per_channel * s
    if per_channel == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}")


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False,
               momentum=0.1, eps=1e-05):
    if training:
        _check_batch(input.shape)
    return torch._op.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None,
                  use_input_stats=True, momentum=0.1, eps=1e-05):
    if use_input_stats:
        spatial = 1
        for s in input.shape[2:]:
            spatial = spatial * s
        if spatial == 1:
            raise ValueError("Expected more than 1 spatial element when training, "
                             f"got input size {input.shape}")
    # batch norm over batch * channels channels, as ATen composes it
    batch, channels = input.shape[0], input.shape[1]
    weight_ = None if weight is None else weight.repeat(batch)
    bias_ = None if bias is None else bias.repeat(batch)
    running_mean_ = None if running_mean is None else running_mean.repeat(batch)
    running_var_ = None if running_var is None else running_var.repeat(batch)
    input_reshaped = input.contiguous().view([1, batch * channels] + list(input.shape[2:]))
    out = torch._op.batch_norm(input_reshaped, weight_, bias_, running_mean_, running_var_,
                               use_input_stats, momentum, eps)
    if use_input_stats and running_mean is not None:
        running_mean.copy_(running_mean_.view(batch, channels).mean(0, False))
    if use_input_stats and running_var is not None:
        running_var.copy_(running_var_.view(batch, channels).mean(0, False))
    del running_var_, running_mean_, bias_, weight_
    return out.view(input.shape)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    if input.dim() < 2:
        raise RuntimeError("Expected at least 2 dimensions for input tensor "
                           f"but received {input.dim()}")
    _check_batch([input.shape[0] * input.shape[1] // num_groups, num_groups] + list(input.shape[2:]))
    return torch._op.group_norm(input, num_groups, weight, bias, eps)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
               return_indices=False):
    if stride is None:
        stride = kernel_size
    if return_indices:
        raise NotImplementedError("F.max_pool1d: return_indices=True is not supported here; leave it out")
    return torch._op._max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
               return_indices=False):
    if stride is None:
        stride = kernel_size
    if return_indices:
        return torch._op._max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return torch._op._max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
               return_indices=False):
    if stride is None:
        stride = kernel_size
    if return_indices:
        return torch._op._max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return torch._op._max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


def _sizes_with_default(given, sizes, count):
    # None stands for the input's own size, one number for all of them
    if isinstance(given, int):
        return [given] * count
    own = list(sizes)[len(sizes) - len(given):]
    return [own[i] if given[i] is None else given[i] for i in range(len(given))]


def adaptive_avg_pool2d(input, output_size):
    _output_size = _sizes_with_default(output_size, input.shape, 2)
    return torch._op._adaptive_avg_pool2d_any(input, _output_size)


def adaptive_avg_pool3d(input, output_size):
    _output_size = _sizes_with_default(output_size, input.shape, 3)
    return torch._op._adaptive_avg_pool3d_any(input, _output_size)


def adaptive_max_pool2d(input, output_size, return_indices=False):
    output_size = _sizes_with_default(output_size, input.shape, 2)
    both = torch._op._adaptive_max_pool2d(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool3d(input, output_size, return_indices=False):
    output_size = _sizes_with_default(output_size, input.shape, 3)
    both = torch._op._adaptive_max_pool3d(input, output_size)
    return both if return_indices else both[0]


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None,
                recompute_scale_factor=None, antialias=False):
    if mode == "nearest" or mode == "area":
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: "
                             "linear | bilinear | bicubic | trilinear")
    dims = input.dim() - 2
    if antialias and (mode not in ("bilinear", "bicubic") or dims != 2):
        raise ValueError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as "
                         "input")
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        output_size = list(size) if isinstance(size, (list, tuple)) else [size] * dims
        scale_factors = None
    elif scale_factor is not None:
        scale_factors = list(scale_factor) if isinstance(scale_factor, (list, tuple)) else [scale_factor] * dims
        output_size = [int(math.floor(float(input.shape[i + 2]) * scale_factors[i])) for i in range(dims)]
        if recompute_scale_factor:
            scale_factors = None
    else:
        raise ValueError("either size or scale_factor should be defined")
    if len(output_size) != dims:
        raise ValueError("Input and output must have the same number of spatial dimensions, but got "
                         f"input with {dims} and output size of {output_size}.")
    scale_h, scale_w = scale_factors if scale_factors is not None and dims == 2 else (None, None)
    if mode == "linear" and dims == 1:
        scale = None if scale_factors is None else scale_factors[0]
        return torch._op._upsample_linear1d(input, output_size, bool(align_corners), scale)
    if mode == "nearest" and dims == 1:
        scale = None if scale_factors is None else scale_factors[0]
        return torch._op._upsample_nearest1d(input, output_size, scale)
    if mode == "nearest" and dims == 2:
        return torch._op._upsample_nearest2d(input, output_size, scale_h, scale_w)
    if mode == "bilinear" and antialias:
        return torch._op._upsample_bilinear2d_aa(input, output_size, bool(align_corners), scale_h, scale_w)
    if mode == "bicubic" and antialias:
        return torch._op._upsample_bicubic2d_aa(input, output_size, bool(align_corners), scale_h, scale_w)
    if mode == "bilinear" and dims == 2:
        return torch._op._upsample_bilinear2d(input, output_size, bool(align_corners), scale_h, scale_w)
    if mode == "bicubic" and dims == 2:
        return torch._op._upsample_bicubic2d(input, output_size, bool(align_corners), scale_h, scale_w)
    if mode == "area" and dims == 2:
        return adaptive_avg_pool2d(input, output_size)
    scale_d, scale_h, scale_w = scale_factors if scale_factors is not None and dims == 3 else (None, None, None)
    if mode == "nearest" and dims == 3:
        return torch._op._upsample_nearest3d(input, output_size, scale_d, scale_h, scale_w)
    if mode == "trilinear" and dims == 3:
        return torch._op._upsample_trilinear3d(input, output_size, bool(align_corners), scale_d, scale_h, scale_w)
    if mode == "area" and dims == 3:
        return adaptive_avg_pool3d(input, output_size)
    raise NotImplementedError(f"F.interpolate: mode {mode} of a {input.dim()}D input is not supported here")


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return torch._op._im2col(input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return torch._op._col2im(input, output_size, kernel_size, dilation, padding, stride)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    torch._warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)
