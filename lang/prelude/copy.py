# lang/prelude/copy.py - copy: copy() and deepcopy(), as CPython's module and PyTorch's tensors and modules do them.
#
# For:       net files; nn_transformer.py.
# Invariant: a tensor is copied where and when PyTorch copies it: a parameter is cloned, of any other leaf the whole
#            memory is copied; an object that is reached twice is copied once.
import torch
from torch.nn import Module, Parameter


def _deep_tensor(x):
    if not x.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol "
                           "at the moment.")
    with torch.no_grad():
        if isinstance(x, Parameter):
            return Parameter(x.detach().clone(), x.requires_grad)
        # a copy of the whole memory, then a tensor of one element that takes it over
        storage = x.as_strided((torch._storage_numel(x),), (1,), 0).clone()
        new = x.new_empty(())
        new.data = storage.as_strided(x.shape, x.stride(), x.storage_offset())
    if x.requires_grad:
        new.requires_grad_()
    if x.grad is not None:
        new.grad = _deep_tensor(x.grad)
    return new


def _fill_module(new, x, memo):
    Module.__init__(new)
    for name, value in x.__dict__.items():
        if name == "_parameters":
            for key, p in value.items():
                new.register_parameter(key, deepcopy(p, memo))
        elif name == "_buffers":
            for key, b in value.items():
                new.register_buffer(key, deepcopy(b, memo), key not in x._non_persistent_buffers_set)
        elif name == "_modules":
            for key, m in value.items():
                new.add_module(key, deepcopy(m, memo))
        elif name != "_non_persistent_buffers_set":
            setattr(new, name, deepcopy(value, memo))


def deepcopy(x, memo=None):
    if memo is None:
        memo = {}
    if isinstance(x, list):
        return [deepcopy(v, memo) for v in x]
    if isinstance(x, tuple):
        return tuple([deepcopy(v, memo) for v in x])
    if isinstance(x, dict):
        return {deepcopy(k, memo): deepcopy(v, memo) for k, v in x.items()}
    if isinstance(x, torch.Tensor):
        if x not in memo:
            memo[x] = _deep_tensor(x)
        return memo[x]
    if not torch._is_instance(x):
        return x
    if x in memo:
        return memo[x]
    if hasattr(x, "__deepcopy__"):
        raise NotImplementedError(f"copy.deepcopy(): `__deepcopy__` of {type(x).__name__} is not looked for; copy it "
                                  f"by hand")
    new = torch._new(type(x))
    memo[x] = new
    if isinstance(x, Module):
        _fill_module(new, x, memo)
    else:
        for name, value in x.__dict__.items():
            setattr(new, name, deepcopy(value, memo))
    return new


def copy(x):
    if isinstance(x, list):
        return list(x)
    if isinstance(x, dict):
        return dict(x)
    if isinstance(x, (torch.Tensor, Module)):
        raise NotImplementedError(f"copy.copy() of a {type(x).__name__} is not supported here; use copy.deepcopy(), or "
                                  f".clone() of a tensor")
    if not torch._is_instance(x):
        return x
    new = torch._new(type(x))
    for name, value in x.__dict__.items():
        setattr(new, name, value)
    return new
