# lang/prelude/apex.py - NVIDIA's Apex: amp.initialize() and amp.scale_loss(), for amp=O0 to O3.
#
# For:       train.py; docs/internals/apex.md.
# Invariant: each tensor is made and freed where Apex (apex.amp as of its last releases, with its C++ extension and
#            optimizers of torch.optim) makes and frees it. Its kernels that read lists of tensors have no temporaries,
#            so in-place ops of PyTorch stand for them.
import torch
import torch.nn as nn
import torch.nn.functional as F

_INTERVAL = 2000  # steps without overflow before the loss scale doubles
_LARGEST_SCALE = 2.0 ** 24


def is_level(value):
    return value in ("O0", "O1", "O2", "O3")


def _flag(value):
    # an int of apex on the device; in PyTorch's kernels the same four bytes are a float
    return torch.full((1,), value, device="cuda")


def _cast(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, tuple):
        return tuple([_cast(v, dtype) for v in value])
    if isinstance(value, list):
        return [_cast(v, dtype) for v in value]
    if isinstance(value, dict):
        return {k: _cast(v, dtype) for k, v in value.items()}
    return value


# ---- the model: O2 and O3 ----


def _convert(module, dtype):
    for param in module._parameters.values():
        if param is not None and param.is_floating_point():
            param.data = param.data.to(dtype)
    for name, buffer in module._buffers.items():
        if buffer is not None and buffer.is_floating_point():
            buffer.data = buffer.data.to(dtype)


def _convert_network(model, dtype):
    # every module on its own; a batch norm with weights stays as it is
    for module in model.modules():
        if isinstance(module, nn._BatchNorm) and module.affine:
            continue
        _convert(module, dtype)
        if isinstance(module, nn.RNNBase):
            module.flatten_parameters()


def _name_again(model):
    for name, p in model.named_parameters():
        torch._set_name(p, name)
        torch._set_category(p, "parameter")
    for name, b in model.named_buffers():
        torch._set_name(b, name)
        torch._set_category(b, "buffer")


def _patch_forward(model):
    plain = model.forward

    def forward(*args, **kwargs):
        output = plain(*_cast(args, torch.float16), **_cast(kwargs, torch.float16))
        return _cast(output, torch.float32)

    model.forward = forward


# ---- casts of O1 ----


# Apex casts the arguments of functions before they begin, and keeps the cast parameters until scale_loss() ends. What
# it does to methods and operators of tensors autocast does here, which has taken over its lists: around forward and
# loss, with a cache of its own.

_HALF = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear")
_FLOAT = ("interpolate", "softplus", "softmin", "log_softmax", "softmax", "gelu", "layer_norm", "group_norm",
          "normalize", "cosine_similarity", "cross_entropy", "kl_div", "l1_loss", "mse_loss", "nll_loss",
          "binary_cross_entropy_with_logits", "smooth_l1_loss")


def _in_float32(plain):
    def function(*args, **kwargs):
        new_args = _cast(args, torch.float32)
        return plain(*new_args, **_cast(kwargs, torch.float32))

    return function


def _in_half(plain, cache):
    def cast(x):
        if not isinstance(x, torch.Tensor) or x.dtype != torch.float32:
            return x
        if not isinstance(x, nn.Parameter):
            return x.half()
        if x not in cache:
            cache[x] = x.half()
        return cache[x]

    def function(*args, **kwargs):
        new_args = tuple([cast(x) for x in args])
        return plain(*new_args, **{k: cast(x) for k, x in kwargs.items()})

    return function


def _patch_functions(cache):
    for name in _HALF:
        setattr(F, name, _in_half(getattr(F, name), cache))
    for name in _FLOAT:
        setattr(F, name, _in_float32(getattr(F, name)))


# ---- the loss ----


class _ScaledLoss:
    def __init__(self, amp, loss):
        self.amp = amp
        self.loss = loss

    def __enter__(self):
        if not self.amp.is_dynamic:
            return self.loss.float()
        self.amp.prepare_backward()
        return self.loss.float() * self.amp.scale

    def __exit__(self, *args):
        if self.amp.is_dynamic:
            self.amp.overflow.fill_(0.0)
            self.amp.post_backward()
            self.amp.update_scale()
        self.amp.cache.clear()


class Amp:
    def __init__(self, level, model, optimizer):
        # amp.initialize(model, optimizer, opt_level=level); without an optimizer for evaluation
        self.optimizer = optimizer
        self.names = {}
        for name, p in model.named_parameters():
            if p.dtype == torch.float16:
                raise ValueError(f"amp={level}: Found param {name} with type torch.cuda.HalfTensor, expected "
                                 "torch.cuda.FloatTensor. When using amp.initialize, you do not need to call .half() "
                                 "on your model before passing it, no matter what optimization level you choose.")
            self.names[p] = name
        self.has_masters = level == "O2"
        self.is_dynamic = level in ("O1", "O2")
        self.cache = {}
        if level == "O2":
            _convert_network(model, torch.float16)
        elif level == "O3":
            model.half()
        if level in ("O2", "O3"):
            _name_again(model)
            _patch_forward(model)
        if optimizer is not None:
            self._process_optimizer()
        self.overflow = _flag(0.0)
        self.scale = 2.0 ** 16
        self.unskipped = 0
        self.skips = False
        if level == "O1":
            _patch_functions(self.cache)

    # ---- the optimizer ----

    def _process_optimizer(self):
        self.halves = []
        self.masters = []
        self.floats = []
        self.stash = []
        self.is_made = False
        self.inverse_scale = _flag(0.0)  # Apex's dummy_overflow_buf
        self.plain_step = self.optimizer.step
        self.optimizer.step = self._step
        if self.has_masters:
            self.optimizer.zero_grad = self._zero_grad

    def _make(self):
        # when the first backward begins
        if self.is_made:
            return
        self.is_made = True
        for group in self.optimizer.param_groups:
            params = group["params"]
            for i in range(len(params)):
                param = params[i]
                if self.has_masters and param.dtype == torch.float16:
                    self.halves.append(param)
                    master = param.detach().clone().float()
                    master.requires_grad = True
                    torch._set_category(master, "optimizer")
                    torch._set_name(master, "master weight of " + self.names.get(param, "a parameter"))
                    params[i] = master
                    self.masters.append(master)
                else:
                    self.floats.append(param)
        self.stash = [None] * len(self.floats)

    def _step(self, *args, **kwargs):
        if self.skips:
            torch._event_skip()
            retval = None
        else:
            retval = self.plain_step(*args, **kwargs)
            for half, master in zip(self.halves, self.masters):
                half.data.copy_(master.data)
        self.skips = False
        for master in self.masters:
            master.grad = None
        return retval

    def _zero_grad(self, set_to_none=None):
        # Apex's own, which writes zeros
        self._make()
        for param in self.halves:
            if param.grad is not None:
                param.grad.zero_()
        for param in self.floats:
            if param.grad is not None:
                param.grad.zero_()
        for param in self.masters:
            param.grad = None

    # ---- around backward ----

    def scale_loss(self, loss):
        return _ScaledLoss(self, loss)

    def prepare_backward(self):
        self._make()
        for param in self.halves:
            param.grad = None
        for i in range(len(self.floats)):
            self.stash[i] = self.floats[i].grad
            self.floats[i].grad = None

    def _unscale(self, grads):
        if len(grads) > 0:
            self.inverse_scale.fill_(1.0 / self.scale)
            torch._amp_foreach_non_finite_check_and_unscale_(grads, self.overflow, self.inverse_scale)

    @torch.no_grad()
    def post_backward(self):
        # the names are Apex's: a list that ends with the function releases its last tensor first
        fp16_grads_needing_unscale = []
        new_fp32_grads = []
        fp16_grads_needing_unscale_with_stash = []
        preexisting_fp32_grads = []
        for half, master in zip(self.halves, self.masters):
            if half.grad is None:
                continue
            if master.grad is None:
                master.grad = torch.empty_like(master)
                torch._set_category(master.grad, "gradient")
                fp16_grads_needing_unscale.append(half.grad)
                new_fp32_grads.append(master.grad)
            else:
                fp16_grads_needing_unscale_with_stash.append(half.grad)
                preexisting_fp32_grads.append(master.grad)
        for half_grad, grad in zip(fp16_grads_needing_unscale, new_fp32_grads):
            grad.copy_(half_grad)
        self._unscale(new_fp32_grads)
        for half_grad, grad in zip(fp16_grads_needing_unscale_with_stash, preexisting_fp32_grads):
            grad.add_(half_grad, alpha=1.0 / self.scale)
        self._post_backward_models_are_masters(self.floats, self.stash)

    def _post_backward_models_are_masters(self, params, stashed_grads):
        grads_needing_unscale = []
        grads_needing_unscale_with_stash = []
        stashed = []
        for param, stashed_grad in zip(params, stashed_grads):
            if param.grad is None and stashed_grad is not None:
                param.grad = stashed_grad
            elif param.grad is not None and stashed_grad is None:
                grads_needing_unscale.append(param.grad)
            elif param.grad is not None and stashed_grad is not None:
                grads_needing_unscale_with_stash.append(param.grad)
                stashed.append(stashed_grad)
        self._unscale(grads_needing_unscale)
        self._unscale(grads_needing_unscale_with_stash)
        for i in range(len(stashed)):
            grads_needing_unscale_with_stash[i].add_(stashed[i])
        for i in range(len(stashed_grads)):
            stashed_grads[i] = None

    def update_scale(self):
        before = self.scale
        self.skips = torch._found_inf(self.overflow) != 0
        if self.skips:
            self.scale = self.scale / 2.0
            self.unskipped = 0
        else:
            self.unskipped = self.unskipped + 1
        if self.unskipped == _INTERVAL:
            self.scale = min(_LARGEST_SCALE, self.scale * 2.0)
            self.unskipped = 0
        if self.scale != before:
            torch._event_scale(self.scale, before)
