"""sample_nets/tools/netwriter/leaves.py - torch.nn modules that the net language has, and how each is constructed
again."""
import inspect

import torch
from torch import nn

from . import known
from .text import Optional, literal

CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)
# Recorded like the model's own: what they do depends on their arguments, and they are made of other modules.
_TRACED = (nn.TransformerEncoderLayer, nn.TransformerEncoder, nn.TransformerDecoderLayer, nn.TransformerDecoder,
           nn.Transformer)
_LEFT_OUT = ("device", "dtype", "_weight", "_freeze")


def is_leaf(module):
    """Of torch.nn itself, known to the net language, and constructed by what its attributes say."""
    cls = type(module)
    return (cls.__module__.startswith("torch.nn.modules.") and known.has("nn", cls.__name__)
            and cls not in CONTAINERS + _TRACED and getattr(nn, cls.__name__, None) is cls and _refusal(module) is None
            and not module._forward_hooks and not module._forward_pre_hooks)


def _refusal(module):
    if any(name not in _own_names(module) for name in list(module._parameters) + list(module._buffers)):
        return "it has parameters of its own"
    return None


def _own_names(module):
    names = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
    if isinstance(module, nn.RNNBase):
        names |= set(module._flat_weights_names)
    if isinstance(module, nn.MultiheadAttention):
        names |= {"in_proj_weight", "in_proj_bias", "q_proj_weight", "k_proj_weight", "v_proj_weight",
                  "bias_k", "bias_v"}
    return names


def _value(module, name, default):
    if name == "bias":
        held = module.in_proj_bias if isinstance(module, nn.MultiheadAttention) else getattr(module, "bias", default)
        return held is not None if not isinstance(held, bool) else held
    if name == "add_bias_kv":
        return module.bias_k is not None
    return getattr(module, name, default)


def _tidy(value):
    if isinstance(value, (tuple, list, torch.Size)):
        value = tuple(_tidy(v) for v in value)
        return value[0] if len(value) > 1 and all(v == value[0] for v in value) else value
    return value


def _parameters(module):
    """The arguments of its constructor. Those of recurrent layers are written out in their base class alone."""
    if not isinstance(module, nn.RNNBase):
        return inspect.signature(type(module).__init__).parameters
    given = dict(inspect.signature(nn.RNNBase.__init__).parameters)
    del given["mode"]
    if not isinstance(module, nn.LSTM):
        del given["proj_size"]
    if isinstance(module, nn.RNN):
        given["nonlinearity"] = inspect.Parameter("nonlinearity", inspect.Parameter.KEYWORD_ONLY, default="tanh")
    return given


def settings(module):
    """What the arguments of its constructor are now."""
    given = _parameters(module)
    return {n: _tidy(_value(module, n, p.default)) for n, p in given.items()
            if n not in _LEFT_OUT and n != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def constructor(module, holes, hint):
    """`nn.Conv2d(3, 64, 7, stride=2)` with holes for the numbers."""
    cls = type(module)
    text = []
    for name, p in _parameters(module).items():
        if name in _LEFT_OUT or name == "self" or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        default = p.default
        value = _tidy(_value(module, name, default))
        if name == "normalized_shape" and isinstance(value, tuple) and len(value) == 1:
            value = value[0]
        if name == "stride" and default is None and value == _tidy(module.kernel_size):
            value = None
        if name in ("kdim", "vdim") and value == module.embed_dim:
            value = None
        label = (hint + "_" if hint else "") + name
        if default is inspect.Parameter.empty:
            text.append(", " + holes.add(label, value))
        elif isinstance(value, (bool, int, float, tuple)) or value is None:
            text.append(holes.add(label, value, Optional(name, _tidy(default))))
        elif value != default:
            text.append(", %s=%s" % (name, literal(value)))
    return "nn.%s(%s)" % (cls.__name__, "".join(text))
