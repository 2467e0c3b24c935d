"""sample_nets/tools/netwriter/values.py - arguments and results of ops: without their device, with known values, as
objects of their own."""
import torch
from torch import nn

from .scope import is_plain_object, parts, tensors_of
from .sizes import Size


def requires_grad(t):
    return getattr(t, "net_grad", None) if hasattr(t, "net_grad") else isinstance(t, nn.Parameter) and t.requires_grad


def real(value):
    """The same arguments with the values known for their tensors."""
    if isinstance(value, torch.Tensor):
        return value.net_real
    if isinstance(value, (torch.device, str)):
        return torch.device("cpu") if isinstance(value, torch.device) else value
    if type(value) in (tuple, list):
        return type(value)(real(v) for v in value)
    if isinstance(value, dict):
        return {k: real(v) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*(int(x) if isinstance(x, Size) else x for x in (value.start, value.stop, value.step)))
    return int(value) if isinstance(value, Size) else value


def off_device(value):
    if isinstance(value, torch.device) or (isinstance(value, str) and value.split(":")[0] in ("cuda", "cpu")):
        return torch.device("meta")
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(off_device(v) for v in value)
    if isinstance(value, dict):
        return {k: off_device(v) for k, v in value.items()}
    return value


def layout(value):
    """What a result is made of: True a tensor, None what holds nothing, a list or a dict of parts."""
    if isinstance(value, torch.Tensor):
        return True
    inner = parts(value)
    if inner is None or not tensors_of(value):
        return None
    if isinstance(value, (tuple, list)):
        return [layout(part) for _, part in inner]
    return {key: layout(part) for key, part in inner}


def own_objects(value, given):
    if isinstance(value, torch.Tensor):
        if id(value) not in given:
            return value
        own = torch.Tensor.detach(value)
        own.net_real = getattr(value, "net_real", None)
        return own
    if not any(id(t) in given for t in tensors_of(value)):
        return value
    if isinstance(value, dict):
        for key in value:
            value[key] = own_objects(value[key], given)
        return value
    if is_plain_object(value):
        for key, part in parts(value):
            setattr(value, key, own_objects(part, given))
        return value
    items = [own_objects(v, given) for v in value]
    if isinstance(value, list):
        value[:] = items
        return value
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
