"""sample_nets/tools/netwriter/functions.py - a call of a torch.autograd.Function: its forward and its backward, each
run once and recorded into a graph of its own, and the `ctx` that connects them."""
import inspect

import torch

from .scope import Scope, Unsupported, has_symbols, tensors_of


def on_context(name, *values):
    """Target of the nodes for `ctx.name(values)`."""


def put_on_context(name, value):
    """Target of the nodes for `ctx.name = value`."""


def from_context(name):
    """Target of the nodes for `ctx.name`."""


class Applied:
    """Target of the node of one call: the function's class, and what was recorded of it."""

    def __init__(self, cls):
        self.cls = cls
        self.__name__ = self.name = cls.__name__
        self.forward = self.backward = None  # scopes

    def __call__(self, *args):
        raise AssertionError("a recorded function is not called")


class _Held:
    """What a Context has: `saved`, the tensors in save_for_backward; `put`, attributes in whose values tensors are."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.saved = ()
        self.put = {}
        self.in_backward = False

    def note(self, target, args):
        scope = self.recorder.scopes[-1]
        node = scope.graph.call_function(target, tuple(scope.lower(a) for a in args))
        self.recorder.note(scope, node)
        return scope, node

    def read(self, name, value):
        """The value as an object of its own in the scope of backward."""
        scope, node = self.note(from_context, (name,))
        return self.recorder.as_own(scope, node, scope.rehome(value, node))


class Context:
    """`ctx` of forward and backward. Numbers and texts are plain attributes, and part of the recorded text."""

    def __init__(self, recorder, needs_input_grad):
        object.__setattr__(self, "_held", _Held(recorder))
        object.__setattr__(self, "needs_input_grad", needs_input_grad)

    def __setattr__(self, name, value):
        held = self._held
        if not has_symbols(value):
            held.put.pop(name, None)
            object.__setattr__(self, name, value)
            return
        held.put[name] = value
        held.note(put_on_context, (name, value))

    def __getattr__(self, name):
        held = self.__dict__["_held"]
        if name not in held.put:
            raise AttributeError(name)
        return held.read(name, held.put[name]) if held.in_backward else held.put[name]

    def save_for_backward(self, *tensors):
        self._held.saved = tensors
        self._held.note(on_context, ("save_for_backward",) + tensors)

    def mark_dirty(self, *tensors):
        self._held.note(on_context, ("mark_dirty",) + tensors)

    def mark_non_differentiable(self, *tensors):
        self._held.note(on_context, ("mark_non_differentiable",) + tensors)

    def set_materialize_grads(self, value):
        self._held.note(on_context, ("set_materialize_grads", bool(value)))

    @property
    def saved_tensors(self):
        return self._held.read("saved_tensors", self._held.saved)


def _names(forward, skip, count):
    """Names for the arguments of a forward; `skip`: those before them."""
    given = list(inspect.signature(forward).parameters.values())[skip:]
    names = [p.name for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return names + ["%s_%d" % (given[-1].name if given else "value", k) for k in range(len(names), count)]


def record(recorder, cls, args, needs_input_grad):
    """(Applied, what forward returned, the arguments that the net file's forward takes)."""
    separate = getattr(cls, "setup_context", None) is not torch.autograd.Function.setup_context
    for method in (cls.forward, cls.backward):
        if hasattr(method, "__wrapped__") and "amp" in (getattr(method, "__module__", None) or "") + str(
                getattr(getattr(method, "__code__", None), "co_filename", "")):
            raise recorder.unsupported("the torch.autograd.Function %s uses custom_fwd or custom_bwd: write it into "
                                       "the net file by hand" % cls.__name__)
    applied, ctx = Applied(cls), Context(recorder, needs_input_grad)
    child = applied.forward = Scope(recorder, None, cls.__name__)
    given, at = list(args), [k for k, v in enumerate(args) if has_symbols(v)]
    names = _names(cls.forward, 0 if separate else 1, len(args))
    taken = [args[k] for k in at]
    for k in at:
        given[k] = child.argument(names[k], args[k])
    recorder.scopes.append(child)
    try:
        result = cls.forward(*given) if separate else cls.forward(ctx, *given)
        if separate:
            cls.setup_context(ctx, tuple(given), result)
        kept = {id(t) for t in tensors_of(ctx._held.saved) + tensors_of(list(ctx._held.put.values()))}
        if any(k not in kept for k in child.leftovers(result)):
            raise recorder.unsupported("a tensor that the forward of %s makes outlives it" % cls.__name__)
        child.finish(result)
    finally:
        recorder.scopes.pop()
    ctx._held.in_backward = True
    applied.backward = _backward(recorder, cls, ctx, result, len(args), at)
    return applied, result, taken


def _backward(recorder, cls, ctx, result, count, at):
    """The scope of backward, which returns a gradient for each argument that the net file's forward takes."""
    scope = Scope(recorder, None, cls.__name__)
    outputs = result if isinstance(result, tuple) else (result,)
    recorder.paused += 1
    incoming = [torch.empty_like(t) if isinstance(t, torch.Tensor) else None for t in outputs]
    recorder.paused -= 1
    names = _names(cls.backward, 1, len(incoming))
    grads = [scope.argument(name, g) for name, g in zip(names, incoming)]
    recorder.scopes.append(scope)
    try:
        found = cls.backward(ctx, *grads)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) < count:
            raise recorder.unsupported("the backward of %s returns %d gradients for %d arguments"
                                       % (cls.__name__, len(found), count))
        found = tuple(found[k] for k in at)
        scope.finish(found[0] if len(found) == 1 else found)
    except Unsupported:
        raise
    finally:
        recorder.scopes.pop()
    return scope
