"""sample_nets/tools/netwriter/expr.py - one node of a graph as an expression of the net language."""
import inspect
import operator

import torch

from .functions import Applied, from_context, on_context
from .record import is_known, op_name
from .scope import count_of, set_requires_grad, size_of
from .text import literal

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "true_divide": "/", "matmul": "@", "pow": "**",
           "floor_divide": "//", "remainder": "%", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
           "ge": ">=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
           "__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__matmul__": "@",
           "__pow__": "**", "__floordiv__": "//", "__mod__": "%", "__eq__": "==", "__ne__": "!=",
           "__and__": "&", "__or__": "|", "__xor__": "^"}
_REFLECTED = {"__radd__": "+", "__rsub__": "-", "__rmul__": "*", "__rdiv__": "/", "__rtruediv__": "/",
              "__rpow__": "**", "__rfloordiv__": "//", "__rmatmul__": "@", "__rmod__": "%",
              "__rand__": "&", "__ror__": "|", "__rxor__": "^"}
IN_PLACE = {"add_": "+=", "sub_": "-=", "mul_": "*=", "div_": "/=", "__ipow__": "**=", "__ifloordiv__": "//=",
            "__iand__": "&=", "__ior__": "|=", "bitwise_and_": "&=", "bitwise_or_": "|="}
_LEVEL = {"|": 1, "^": 2, "&": 3, "==": 0, "!=": 0, "<": 0, "<=": 0, ">": 0, ">=": 0, "+": 4, "-": 4,
          "*": 5, "/": 5, "//": 5, "%": 5, "@": 5, "~": 6, "neg": 6, "**": 7}
ATOM = 9
_MODE = ("training", "use_input_stats")
_SIZE = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.floordiv: "//", operator.mod: "%"}
_NO_MEANING = {"out": (None,), "layout": (None, torch.strided), "pin_memory": (None, False),
               "requires_grad": (False,), "non_blocking": (False,), "names": (None,), "generator": (None,),
               "memory_format": (None, torch.contiguous_format, torch.preserve_format), "_stacklevel": (3,)}


def in_parens(text, level, least):
    return "(%s)" % text if level < least else text


def canonical(kind, name):
    """The spelling that the net language has: a pooling function is found in F, not in torch."""
    if not is_known(kind, name):
        for other in ("F", "torch", "Tensor"):
            if is_known(other, name) and not (kind == "torch" and other == "Tensor"):
                return other, name
    return kind, name


def parameters_of(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return []


class Expressions:
    """Expressions of one graph. `body` gives the text of a value: its name, or what it is where it stands."""

    def __init__(self, body, holes):
        self.body = body
        self.holes = holes

    def value(self, v, label="", least=0):
        """Text of an argument."""
        if isinstance(v, torch.fx.Node):
            text, level = self.body.ref(v)
            return in_parens(text, level, least)
        if isinstance(v, bool) or v is None or v is Ellipsis:
            return literal(v)
        if isinstance(v, (int, float)):
            text = self.holes.add(label or "value", v)
            return in_parens(text, 6 if v < 0 else ATOM, least)
        if isinstance(v, list):
            return "[%s]" % ", ".join(self.value(x, label) for x in v)
        if isinstance(v, tuple):
            return "(%s%s)" % (", ".join(self.value(x, label) for x in v), "," if len(v) == 1 else "")
        if isinstance(v, dict):
            return "{%s}" % ", ".join('%s: %s' % (literal(k), self.value(x, label)) for k, x in v.items())
        if isinstance(v, torch.device) or (isinstance(v, str) and v.split(":")[0] in ("cuda", "cpu")):
            return self.device(torch.device(v))
        return literal(v)

    def device(self, device):
        return '"cpu"' if device.type == "cpu" else self.body.any_device()

    def index(self, v):
        if isinstance(v, tuple) and v:
            return ", ".join(self._index(x) for x in v) + ("," if len(v) == 1 else "")
        return self._index(v)

    def _index(self, v):
        if isinstance(v, slice):
            ends = [self.value(x, "index") if x is not None else "" for x in (v.start, v.stop, v.step)]
            return ends[0] + ":" + ends[1] + (":" + ends[2] if ends[2] else "")
        return self.value(v, "index")

    def size(self, node):
        """(text, level) of a size that is computed where it is used."""
        if node.target is size_of:
            return "%s.shape[%d]" % (self.value(node.args[0], least=ATOM), node.args[1]), ATOM
        if node.target is count_of:
            return "%s.numel()" % self.value(node.args[0], least=ATOM), ATOM
        sign = _SIZE[node.target]
        return self._binary(sign, node.args[0], node.args[1], "size")

    def _binary(self, sign, left, right, label):
        level = _LEVEL[sign]
        least = (level + 1, level) if sign == "**" else (level, level + 1)
        return "%s %s %s" % (self.value(left, label, least[0]), sign, self.value(right, label, least[1])), level

    def op(self, node):
        """(text, level) of a call_function or call_module node."""
        if node.op == "call_module":
            stars = node.meta.get("stars", ())
            words = [("*" if at < len(stars) and stars[at] else "") + self.value(a) for at, a in enumerate(node.args)]
            words += ["%s=%s" % (k, self.value(a)) for k, a in node.kwargs.items()]
            return "%s(%s)" % (self.body.module(node.target), ", ".join(words)), ATOM
        if isinstance(node.target, Applied):
            return "%s.apply(%s)" % (node.target.name, ", ".join(self.value(a) for a in node.args)), ATOM
        if node.target is from_context:
            return "ctx." + node.args[0], ATOM
        if node.target is on_context:
            return "ctx.%s(%s)" % (node.args[0], ", ".join(self.value(a) for a in node.args[1:])), -1
        if node.target is set_requires_grad:
            return "%s.requires_grad = %s" % (self.value(node.args[0], least=ATOM), node.args[1]), -1
        kind, name = op_name(node.target)
        if kind == "attribute":
            return "%s.%s" % (self.value(node.args[0], least=ATOM), name), ATOM
        if kind == "Tensor" and name == "__getitem__":
            return "%s[%s]" % (self.value(node.args[0], least=ATOM), self.index(node.args[1])), ATOM
        if kind == "Tensor" and name == "__setitem__":
            return "%s[%s] = %s" % (self.value(node.args[0], least=ATOM), self.index(node.args[1]),
                                    self.value(node.args[2], "filled")), -1
        operators = self._operator(node, name) if kind == "Tensor" else None
        return operators or self._call(node, *canonical(kind, name))

    def _operator(self, node, name):
        if len(node.args) == 2 and not node.kwargs:
            if name in _BINARY:
                return self._binary(_BINARY[name], node.args[0], node.args[1], name)
            if name in _REFLECTED:
                return self._binary(_REFLECTED[name], node.args[1], node.args[0], name)
        if len(node.args) == 1 and name in ("neg", "__neg__", "__invert__", "bitwise_not"):
            sign = "~" if name in ("__invert__", "bitwise_not") else "-"
            return sign + self.value(node.args[0], least=6), 6
        return None

    def _call(self, node, kind, name):
        if kind == "Tensor":
            first = self.value(node.args[0], least=ATOM)
            return "%s.%s(%s)" % (first, name, ", ".join(self._words(node, name, 1))), ATOM
        words = self._words(node, name, 0)
        return "%s%s(%s)" % ({"F": "F.", "torch": "torch.", "": ""}[kind], name, ", ".join(words)), ATOM

    def _words(self, node, name, start):
        known = parameters_of(node.target)
        names = [p.name for p in known]
        words = []
        for at, v in list(enumerate(node.args))[start:]:
            words.append(self._argument(node, name, names[at] if at < len(names) else "", v))
        by_name = {p.name: p for p in known}
        for key, v in node.kwargs.items():
            if not isinstance(v, torch.fx.Node) and any(v is n or v == n for n in _NO_MEANING.get(key, ())):
                continue
            if v is None and key not in by_name:
                continue
            text = self._argument(node, name, key, v) if key in _MODE else None
            if text != "self.training" and key in by_name and not isinstance(v, torch.fx.Node) and same(
                    v, by_name[key].default):
                continue
            words.append("%s=%s" % (key, text or self._argument(node, name, key, v)))
        return words

    def _argument(self, node, name, key, v):
        training = node.meta.get("training", True)
        if key in _MODE and isinstance(v, bool) and v == training and self.body.has_self:
            return "self.training"
        if key == "dropout_p" and isinstance(v, float) and v > 0 and training and self.body.has_self:
            return "(%s if self.training else 0.0)" % self.value(v, name + "_p")
        return self.value(v, name + "_" + key if key else name)


def same(value, default):
    if value is default:
        return True
    return type(value) is type(default) and isinstance(value, (bool, int, float, str)) and value == default
