# lang/prelude/functional_loss.py - torch.nn.functional: losses.
#
# For:       net files and nn_layers.py.
# Invariant: as functional.py, whose module this file extends.
import torch


# ATen's numbers for the kinds of reduction
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _number(reduction):
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _REDUCTIONS[reduction]


def _reduction(size_average, reduce, reduction):
    # size_average and reduce are PyTorch's old spelling of reduction
    if size_average is None and reduce is None:
        return reduction
    reduction = "mean"
    if reduce is not None and not reduce:
        reduction = "none"
    elif size_average is not None and not size_average:
        reduction = "sum"
    torch._warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    return reduction


def _warn_size(input, target):
    if target.shape != input.shape:
        torch._warn(f"Using a target size ({target.shape}) that is different to the input size "
                    f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
                    "Please ensure they have the same size.")


def _reduced(values, reduction):
    if reduction == "none":
        return values
    if reduction == "sum":
        return torch.sum(values)
    if reduction == "mean":
        return values.mean()
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def _check_weight(weight, input):
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
                  reduction="mean", label_smoothing=0.0):
    reduction = _reduction(size_average, reduce, reduction)
    return torch._op.cross_entropy_loss(input, target, weight, _number(reduction), ignore_index,
                                        label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
             reduction="mean"):
    reduction = _reduction(size_average, reduce, reduction)
    return torch._op.nll_loss_nd(input, target, weight, _number(reduction), ignore_index)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    _warn_size(input, target)
    reduction = _reduction(size_average, reduce, reduction)
    expanded_input, expanded_target = torch.broadcast_tensors(input, target)
    if weight is not None:
        _check_weight(weight, input)
        squared_errors = torch.pow(expanded_input - expanded_target, 2)
        weighted_squared_errors = squared_errors * weight
        if reduction == "mean":
            return torch.sum(weighted_squared_errors) / torch.sum(weight)
        return _reduced(weighted_squared_errors, reduction)
    return torch._op._mse_loss(expanded_input, expanded_target, _number(reduction))


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    _warn_size(input, target)
    reduction = _reduction(size_average, reduce, reduction)
    expanded_input, expanded_target = torch.broadcast_tensors(input, target)
    if weight is not None:
        _check_weight(weight, input)
        absolute_errors = torch.abs(expanded_input - expanded_target)
        weighted_absolute_errors = absolute_errors * weight
        if reduction == "mean":
            return torch.sum(weighted_absolute_errors) / torch.sum(weight)
        return _reduced(weighted_absolute_errors, reduction)
    return torch._op._l1_loss(expanded_input, expanded_target, _number(reduction))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    _warn_size(input, target)
    reduction = _reduction(size_average, reduce, reduction)
    expanded_input, expanded_target = torch.broadcast_tensors(input, target)
    if beta == 0.0:
        return torch._op._l1_loss(expanded_input, expanded_target, _number(reduction))
    return torch._op._smooth_l1_loss(expanded_input, expanded_target, _number(reduction), beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    _warn_size(input, target)
    expanded_input, expanded_target = torch.broadcast_tensors(input, target)
    if weight is None:
        return torch._op._huber_loss(expanded_input, expanded_target, _number(reduction), delta)
    _check_weight(weight, input)
    unweighted_loss = torch._op._huber_loss(expanded_input, expanded_target, _number("none"), delta)
    weighted_loss = unweighted_loss * weight
    return _reduced(weighted_loss, reduction)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    if size_average is None and reduce is None and reduction == "batchmean":
        reduced = torch._op._kl_div(input, target, _number("sum"), log_target)
        if input.dim() != 0:
            reduced = reduced / input.shape[0]
        return reduced
    reduction = _reduction(size_average, reduce, reduction)
    if reduction == "mean":
        torch._warn("reduction: 'mean' divides the total loss by both the batch size and the support "
                    "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
                    "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
                    "release.")
    return torch._op._kl_div(input, target, _number(reduction), log_target)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    reduction = _reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size "
                         f"({input.shape}) is deprecated. Please ensure they have the same size.")
    if weight is not None:
        weight = weight.expand(target.shape)
    return torch._op._binary_cross_entropy(input, target, weight, _number(reduction))


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None,
                                     reduction="mean", pos_weight=None):
    reduction = _reduction(size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return torch._op._binary_cross_entropy_with_logits(input, target, weight, pos_weight, _number(reduction))
