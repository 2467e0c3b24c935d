"""tests/oracle/prelude_load.py - runs the files of lang/prelude under real PyTorch, each in a module of its own.

`load()` gives a stand-in for `torch` whose nn, nn.functional, optim, amp and utils.checkpoint are the
prelude's, and whose `_op` is the op table spelled with PyTorch's own functions. What else the
prelude needs of the machine below it (docs/internals/prelude.md) is made of PyTorch here.
"""
import builtins
import glob
import os
import re
import types

import torch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# what Python's and PyTorch's own modules stand for
LEFT_OUT = ("collections", "functools", "torch.utils.data", "torch.backends", "torch.cuda")
LEFT_OUT_FILES = ("selective.py",)
NATIVE_NN = ("Module", "Parameter", "Buffer")
NATIVE_F = ("linear", "gelu", "softplus", "logsigmoid", "prelu", "glu", "layer_norm",
            "rms_norm", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d", "conv_transpose1d",
            "conv_transpose2d", "conv_transpose3d", "pixel_shuffle", "one_hot", "tanh", "sigmoid",
            "scaled_dot_product_attention")


class Proxy(types.ModuleType):
    """A module of the prelude; what it lacks is looked for in PyTorch's."""

    def __init__(self, name, behind, only=None):
        super().__init__(name)
        self.__dict__["_behind"] = behind
        self.__dict__["_only"] = only

    def __getattr__(self, name):
        if name.startswith("__") or (self._only is not None and name not in self._only):
            raise AttributeError("%s has no %s" % (self.__name__, name))
        return getattr(self._behind, name)


def _op():
    """The rows of engine/core/op.def that the prelude names, in ATen's spelling."""
    nn, a = torch._C._nn, torch.ops.aten
    op = types.SimpleNamespace(
        _dropout=torch.dropout, _dropout_=torch.dropout_, _feature_dropout=torch.feature_dropout,
        _feature_dropout_=torch.feature_dropout_, cross_entropy_loss=nn.cross_entropy_loss,
        nll_loss_nd=nn.nll_loss_nd, _mse_loss=nn.mse_loss, _l1_loss=nn.l1_loss,
        _smooth_l1_loss=nn.smooth_l1_loss, _huber_loss=nn.huber_loss,
        _kl_div=lambda i, t, r, log_target: torch.kl_div(i, t, r, log_target=log_target),
        _binary_cross_entropy=nn.binary_cross_entropy,
        _binary_cross_entropy_with_logits=torch.binary_cross_entropy_with_logits,
        _constant_pad_nd=torch.constant_pad_nd, _einsum=torch._C._VariableFunctions.einsum,
        embedding=torch.embedding, embedding_bag=torch.embedding_bag, _max_pool1d=torch.max_pool1d,
        _max_pool2d=torch.max_pool2d,
        _max_pool2d_with_indices=nn.max_pool2d_with_indices,
        _adaptive_avg_pool2d_any=nn.adaptive_avg_pool2d, _adaptive_max_pool2d=nn.adaptive_max_pool2d,
        _max_pool3d=torch.max_pool3d, _max_pool3d_with_indices=nn.max_pool3d_with_indices,
        _adaptive_avg_pool3d_any=nn.adaptive_avg_pool3d, _adaptive_max_pool3d=nn.adaptive_max_pool3d,
        _reflection_pad3d=nn.reflection_pad3d, _replication_pad3d=nn.replication_pad3d,
        conv1d=torch.conv1d, conv2d=torch.conv2d, conv3d=torch.conv3d, group_norm=torch.group_norm,
        batch_norm=lambda *args: torch.batch_norm(*args, torch.backends.cudnn.enabled),
        _vector_norm=lambda x, dim=(), keepdim=False, dtype=None: torch.linalg.vector_norm(
            x, 2.0, None if not isinstance(dim, int) and len(dim) == 0 else dim, keepdim,
            dtype=dtype),
        _upsample_nearest2d=lambda x, size, h, w: a.upsample_nearest2d.vec(
            x, size if h is None else None, None if h is None else [h, w]),
        _upsample_linear1d=lambda x, size, corners, w: a.upsample_linear1d.vec(
            x, size if w is None else None, corners, None if w is None else [w]),
        _upsample_bilinear2d=lambda x, size, corners, h, w: a.upsample_bilinear2d.vec(
            x, size if h is None else None, corners, None if h is None else [h, w]),
        _upsample_nearest3d=lambda x, size, d, h, w: a.upsample_nearest3d.vec(
            x, size if d is None else None, None if d is None else [d, h, w]),
        _upsample_trilinear3d=lambda x, size, corners, d, h, w: a.upsample_trilinear3d.vec(
            x, size if d is None else None, corners, None if d is None else [d, h, w]),
    )
    for name in ("relu", "selu", "celu", "rrelu", "threshold", "hardtanh", "relu6", "elu", "leaky_relu",
                 "hardsigmoid", "silu", "mish", "hardswish"):
        for twin in (name, name + "_"):
            setattr(op, twin, getattr(torch, twin, None) or getattr(nn, twin))
    return op


def _deal(lists, i, bucket):
    # lang/torch/buckets.c
    first = lists[0][i]
    while True:
        for items, into in zip(lists, bucket):
            if items:
                into.append(items[i])
        bucket[-1].append(i)
        i += 1
        if i == len(lists[0]) or (lists[0][i].device, lists[0][i].dtype) != (first.device, first.dtype):
            return i


def files():
    """(file, module) of lang/prelude, in the order in which they run."""
    with open(os.path.join(ROOT, "lang", "prelude", "prelude.c")) as f:
        rows = re.findall(r'\{"(\w+\.py)", "([\w.]+)"\}', f.read())
    return [(file, module) for file, module in rows if module not in LEFT_OUT and file not in LEFT_OUT_FILES]


def load(given=None):
    """The stand-in for `torch`; `given` are natives of the loop (docs/internals/prelude.md) to be found in it."""
    top = Proxy("torch", torch)
    spaces = {"torch": top}
    for name, behind, only in (
            ("torch.linalg", None, ()), ("torch.nn", torch.nn, NATIVE_NN), ("torch.nn.init", None, ()),
            ("torch.nn.functional", torch.nn.functional, NATIVE_F),
            ("torch.nn.utils", None, ()), ("torch.optim", None, ()), ("torch.optim.lr_scheduler", None, ()),
            ("copy", None, ()), ("torch.amp", torch.amp, ("autocast",)),
            ("torch.utils", torch.utils, None), ("torch.utils.checkpoint", None, ())):
        spaces[name] = Proxy(name, behind, only)
    for file, module in files():
        if module not in spaces:
            spaces[module] = Proxy(module, None, ())
    for name, space in spaces.items():
        if "." in name:
            setattr(spaces[name.rpartition(".")[0]], name.rpartition(".")[2], space)
    top.autocast = torch.amp.autocast
    top._op = _op()
    top._deal = _deal
    top._warn = lambda text: None
    top._warn_of = lambda what, text: None
    top._check_eps = lambda name, eps, params: None
    top._rng_moved = lambda before: False
    top._rank_count = lambda: 0
    top._had_grad = lambda p: True
    top._set_category = lambda t, category: None
    top._has_data = lambda: True
    top._new = lambda cls: cls.__new__(cls)
    top._is_instance = lambda x: isinstance(x, torch.nn.Module) or type(type(x)) is type and type(x).__module__ not in (
        "builtins", "torch")
    top._storage_numel = lambda t: t.untyped_storage().nbytes() // t.element_size()
    top._set_name = lambda t, name: None
    top._name_modules = lambda model: None
    top._rng_get = lambda: (torch.get_rng_state(), torch.cuda.get_rng_state())
    top._rng_set = lambda s: (torch.set_rng_state(s[0]), torch.cuda.set_rng_state(s[1]))
    top._recompute_begin = top._recompute_end = lambda function: None
    top._checkpoint_is_valid = torch.autograd._is_checkpoint_valid
    top._checkpoint_run = lambda f, a, k, preserve, early, selective: torch.utils.checkpoint.checkpoint(
        f, *a, use_reentrant=False, preserve_rng_state=preserve, early_stop=early, **k)
    top._part_begin = lambda name: False
    top._part_end = lambda has_begun: None
    top._sets_to_none = lambda: True
    top._found_inf = lambda t: t.item()
    top._event_scale = top._event_skip = lambda *values: None
    for name, function in (given or {}).items():
        setattr(top, name, function)

    def find(name, globals=None, locals=None, fromlist=(), level=0):
        if name.partition(".")[0] not in spaces:
            return builtins.__import__(name, globals, locals, fromlist, level)
        return spaces[name] if fromlist else spaces[name.partition(".")[0]]

    for file, module in files():
        path = glob.glob(os.path.join(ROOT, "lang", "prelude", "**", file), recursive=True)[0]
        space = spaces[module].__dict__
        space["__builtins__"] = dict(vars(builtins), __import__=find)
        for name in spaces[module]._only or ():
            if hasattr(spaces[module]._behind, name):
                space.setdefault(name, getattr(spaces[module]._behind, name))
        with open(path) as f:
            exec(compile(f.read(), path, "exec"), space)
    top.train_module = spaces["_train"]
    top.find = find
    return top


def net_file(top, path):
    """A net file whose torch is the prelude."""
    net = types.ModuleType("net")
    net.__dict__["__builtins__"] = dict(vars(builtins), __import__=top.find)
    with open(path) as f:
        exec(compile(f.read(), path, "exec"), net.__dict__)
    return net
