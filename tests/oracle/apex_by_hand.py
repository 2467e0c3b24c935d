"""tests/oracle/apex_by_hand.py - mixed precision of NVIDIA's Apex written out in PyTorch, as a net's own step.

make_golden.py puts this text behind a net file, and LEVEL, OPTIMIZER, OPTIONS, DROP and TO_NONE before it. The names
of the step are globals here, so that they live as long as those of the built-in loop.
Functions are named after those of apex.amp that they write out;
where Apex calls a kernel of its own (multi_tensor_scale, which has no temporaries) in-place ops stand.
"""
import contextlib

import torch
import torch.nn.functional as F


# ---- apex/amp/_initialize.py, apex/fp16_utils/fp16util.py ----

def applier(value, function):
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, dict):
        return {k: applier(v, function) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(applier(v, function) for v in value)
    return value


def to_type(dtype):
    return lambda t: t.to(dtype) if t.is_floating_point() else t


def convert_network(network, dtype):
    for module in network.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.affine is True:
            continue
        for param in module.parameters(recurse=False):
            if param.data.dtype.is_floating_point:
                param.data = param.data.to(dtype=dtype)
        for buf in module.buffers(recurse=False):
            if buf.data.dtype.is_floating_point:
                buf.data = buf.data.to(dtype=dtype)
        if isinstance(module, torch.nn.modules.rnn.RNNBase):
            module.flatten_parameters()


def patch_forward(old_fwd):
    def new_fwd(*args, **kwargs):
        output = old_fwd(*applier(args, to_type(torch.float16)), **applier(kwargs, to_type(torch.float16)))
        return applier(output, to_type(torch.float32))

    return new_fwd


# ---- apex/amp/amp.py, wrap.py, lists: O1 ----

FP16 = ((F, ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linear")),
        (torch, ("matmul", "mm", "bmm", "addmm", "baddbmm")), (torch.Tensor, ("matmul", "__matmul__", "mm", "bmm")))
FP32 = ((F, ("interpolate", "softplus", "softmin", "log_softmax", "softmax", "gelu", "layer_norm", "group_norm",
             "normalize", "cosine_similarity", "cross_entropy", "kl_div", "l1_loss", "mse_loss", "nll_loss",
             "binary_cross_entropy_with_logits", "smooth_l1_loss")),
        (torch, ("exp", "log", "pow", "sum", "norm")), (torch.Tensor, ("exp", "log", "pow", "sum", "norm")))
cache = {}


def maybe_half(x):
    if x.dtype != torch.float32:
        return x
    if not isinstance(x, torch.nn.Parameter):
        return x.half()
    if x not in cache:
        cache[x] = x.half()
    return cache[x]


def maybe_float(x):
    return x.float() if x.dtype == torch.float16 else x


def make_cast_wrapper(orig_fn, cast_fn):
    def wrapper(*args, **kwargs):
        new_args = applier(args, cast_fn)
        return orig_fn(*new_args, **applier(kwargs, cast_fn))

    return wrapper


def init():
    for places, cast_fn in ((FP16, maybe_half), (FP32, maybe_float)):
        for place, names in places:
            for name in names:
                setattr(place, name, make_cast_wrapper(getattr(place, name), cast_fn))


# ---- apex/amp/scaler.py ----

class LossScaler:
    def __init__(self):
        self._loss_scale = 2.0 ** 16
        self._overflow_buf = torch.full((1,), 0.0, device="cuda")

    def unscale(self, model_grads, master_grads, one):
        for model, master in zip(model_grads, master_grads):
            if model is not master:
                master.copy_(model)
        for master in master_grads:
            master.mul_(1.0 / self._loss_scale)

    def unscale_with_stashed(self, model_grads, stashed_grads, master_grads):
        for model, stashed, master in zip(model_grads, stashed_grads, master_grads):
            if model is master:
                master.mul_(1.0 / self._loss_scale).add_(stashed)
            else:
                master.add_(model, alpha=1.0 / self._loss_scale)

    def update_scale(self):
        return self._overflow_buf.item() != 0


# ---- apex/amp/_process_optimizer.py ----

class Stash:
    pass


def lazy_init(self):
    stash = self._amp_stash
    if stash.lazy_init_called:
        return
    stash.lazy_init_called = True
    stash.all_fp16_params, stash.all_fp32_from_fp16_params, stash.all_fp32_from_fp32_params = [], [], []
    for param_group in self.param_groups:
        for i, param in enumerate(param_group["params"]):
            if param.dtype == torch.float16 and LEVEL == "O2":
                stash.all_fp16_params.append(param)
                master_param = param.detach().clone().float()
                master_param.requires_grad = True
                param_group["params"][i] = master_param
                stash.all_fp32_from_fp16_params.append(master_param)
                del master_param
            else:
                stash.all_fp32_from_fp32_params.append(param)
    stash.all_fp32_from_fp32_grad_stash = [None for _ in stash.all_fp32_from_fp32_params]


def post_backward_models_are_masters(scaler, params, stashed_grads):
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
    scaler.unscale(grads_needing_unscale, grads_needing_unscale, 1.0)
    scaler.unscale_with_stashed(grads_needing_unscale_with_stash, stashed, grads_needing_unscale_with_stash)
    for i in range(len(stashed_grads)):
        stashed_grads[i] = None


def prepare_backward(self):
    lazy_init(self)
    stash = self._amp_stash
    for param in stash.all_fp16_params:
        param.grad = None
    for i, param in enumerate(stash.all_fp32_from_fp32_params):
        stash.all_fp32_from_fp32_grad_stash[i] = param.grad
        param.grad = None


def post_backward(self, scaler):
    stash = self._amp_stash
    fp16_grads_needing_unscale = []
    new_fp32_grads = []
    fp16_grads_needing_unscale_with_stash = []
    preexisting_fp32_grads = []
    for fp16_param, fp32_param in zip(stash.all_fp16_params, stash.all_fp32_from_fp16_params):
        if fp16_param.grad is not None and fp32_param.grad is None:
            fp32_param.grad = torch.empty_like(fp32_param)
            fp16_grads_needing_unscale.append(fp16_param.grad)
            new_fp32_grads.append(fp32_param.grad)
        elif fp16_param.grad is not None and fp32_param.grad is not None:
            fp16_grads_needing_unscale_with_stash.append(fp16_param.grad)
            preexisting_fp32_grads.append(fp32_param.grad)
    with torch.no_grad():
        scaler.unscale(fp16_grads_needing_unscale, new_fp32_grads, 1.0)
        scaler.unscale_with_stashed(fp16_grads_needing_unscale_with_stash, preexisting_fp32_grads,
                                    preexisting_fp32_grads)
        post_backward_models_are_masters(scaler, stash.all_fp32_from_fp32_params, stash.all_fp32_from_fp32_grad_stash)


def process_optimizer(optimizer):
    optimizer._amp_stash = stash = Stash()
    stash.lazy_init_called = False
    stash.dummy_overflow_buf = torch.full((1,), 0.0, device="cuda")
    if LEVEL != "O2":
        return
    old_step = optimizer.step

    def new_step():
        retval = old_step()
        with torch.no_grad():
            for model, master in zip(stash.all_fp16_params, stash.all_fp32_from_fp16_params):
                model.copy_(master)
        for param in stash.all_fp32_from_fp16_params:
            param.grad = None
        return retval

    def new_zero_grad(set_to_none=None):
        lazy_init(optimizer)
        for param in stash.all_fp16_params + stash.all_fp32_from_fp32_params:
            if param.grad is not None:
                param.grad.detach_()
                param.grad.zero_()
        for param in stash.all_fp32_from_fp16_params:
            param.grad = None

    optimizer.step = new_step
    optimizer.zero_grad = new_zero_grad


# ---- apex/amp/handle.py ----

@contextlib.contextmanager
def scale_loss(loss, optimizer):
    if LEVEL in ("O0", "O3"):
        yield loss.float()
        return
    prepare_backward(optimizer)
    yield loss.float() * loss_scaler.loss_scale
    loss_scaler._overflow_buf.fill_(0)
    post_backward(optimizer, loss_scaler)
    loss_scaler.update_scale()
    cache.clear()


# ---- the user's program ----

LossScaler.loss_scale = property(lambda self: self._loss_scale)


def optimizer(model):
    global loss_scaler
    made = getattr(torch.optim, OPTIMIZER)([p for p in model.parameters() if p.requires_grad], **OPTIONS)
    if LEVEL == "O2":
        convert_network(model, torch.float16)
    elif LEVEL == "O3":
        model.to(torch.float16)
    if LEVEL in ("O2", "O3"):
        model.forward = patch_forward(model.forward)
    if LEVEL != "O0":
        process_optimizer(made)
        loss_scaler = LossScaler()
    if LEVEL == "O1":
        init()
    return made


def train_step(model, optimizer, scaler, inputs, targets):
    global output, l, scaled_loss
    criterion = globals().get("loss", F.cross_entropy)
    output = model(inputs)
    l = criterion(output, targets)
    with scale_loss(l, optimizer) as scaled_loss:
        scaled_loss.backward()
    if DROP:
        del scaled_loss, output, l
    optimizer.step()
    optimizer.zero_grad(set_to_none=TO_NONE)
