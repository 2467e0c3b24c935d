"""sample_nets/tools/netwriter/record.py - runs a model once, without data, and records every module's forward into a
torch.fx graph of its own.

The model's own Python runs, with the real objects: so conditions, loops and lifetimes are those of the model, and
where the last reference to a tensor goes away is seen, not guessed. The copy it runs on is on the device `meta`
(shapes alone) and says that it is on cuda.
"""
import contextlib
import copy
import gc
import inspect

import torch
import torch.utils.checkpoint
from torch import nn
from torch.overrides import TorchFunctionMode, resolve_name

from . import frames, functions, known, leaves
from .scope import (Scope, Unsupported, count_of, has_symbols, is_plain_object, parts, set_requires_grad, size_of,
                    tensors_of)
from .sizes import Size
from .values import layout, off_device, own_objects, real, requires_grad

MOST_VALUES = 1 << 20
_READS = ("__bool__", "item", "__int__", "__float__", "__index__", "tolist")
_RANDOM = ("rand", "randn", "randint", "randperm", "bernoulli", "multinomial", "rand_like", "randn_like", "empty",
           "empty_like", "new_empty")
_DETACHED = ("detach", "detach_", "data")
_CHECKPOINT = ("_checkpoint_impl", "_checkpoint_without_reentrant_generator",
               "_checkpoint_without_reentrant_generator_impl")
CUDA = torch.device("cuda")
_ABSENT = object()
_BY_OPERATOR = {"__radd__": "add", "__rmul__": "mul", "__rsub__": "sub", "__rdiv__": "div",
                "__rtruediv__": "div", "__rpow__": "pow", "__pow__": "pow", "__ipow__": "pow_",
                "__rfloordiv__": "floor_divide", "__floordiv__": "floor_divide",
                "__rmatmul__": "matmul", "__matmul__": "matmul", "__and__": "bitwise_and",
                "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__invert__": "bitwise_not",
                "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor",
                "__eq__": "eq", "__ne__": "ne", "__mod__": "remainder", "__truediv__": "div",
                "__ifloordiv__": "floor_divide_", "__iand__": "bitwise_and_",
                "__ior__": "bitwise_or_", "__neg__": "neg", "__abs__": "abs"}


def op_name(function):
    """(kind, name): ("Tensor", "view"), ("attribute", "mT"), ("F", "relu"), ("torch", "cat") or ("", full name)."""
    name = resolve_name(function) or ""
    if not name and getattr(torch, getattr(function, "__name__", ""), None) is function:
        name = "torch." + function.__name__  # those with an underscore
    if name.startswith("torch.Tensor."):
        rest = name[len("torch.Tensor."):]
        if rest.endswith(".__get__"):
            return "attribute", rest[:-len(".__get__")]
        return "Tensor", rest
    last = name.rpartition(".")[2] or getattr(function, "__name__", str(function))
    if name.startswith(("torch.nn.functional.", "torch._C._nn.")):
        return "F", last.lstrip("_")
    if name in ("torch." + last, "torch.functional." + last, "torch._C." + last):
        return "torch", last
    return "", name or str(function)


def is_known(kind, name):
    if kind == "Tensor" and name in ("__getitem__", "__setitem__"):
        return True
    if kind in ("Tensor", "attribute"):
        return known.has("Tensor", _BY_OPERATOR.get(name, name))
    return known.has(kind, name)


class _Mode(TorchFunctionMode):
    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, function, types, args=(), kwargs=None):
        return self.recorder.call(function, args, kwargs or {})


def copy_on_meta(model):
    """(copy of the model without data, {id of its tensor: the model's own one})."""
    memo, originals = {}, {}
    for module in model.modules():
        own = list(module._parameters.values()) + list(module._buffers.values())
        own += [v for v in vars(module).values() if isinstance(v, torch.Tensor)]
        for t in own:
            if t is None or id(t) in memo:
                continue
            twin = torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="meta")
            if isinstance(t, nn.Parameter):
                twin = nn.Parameter(twin, requires_grad=t.requires_grad)
            elif not t.is_floating_point() and t.device.type != "meta" and t.numel() <= MOST_VALUES:
                twin.net_real = t.detach().cpu()
            memo[id(t)] = twin
            originals[id(twin)] = t
    return copy.deepcopy(model, memo), originals


class Inline(Exception):
    """A module changes what its caller holds: the model is recorded again with it as a part of its caller."""

    def __init__(self, name, refusal):
        super().__init__(name)
        self.name = name
        self.refusal = refusal  # what is said where that does not help


class Recorder:
    def __init__(self, model, zeros=False, inline=()):
        """
        `model` is a copy on meta. `zeros`: values asked for are zero, as on a device that computes nothing. `inline`:
        names of modules whose forward is a part of their callers'.
        """
        self.zeros = zeros
        self.inline = inline
        self.functions = []  # calls of custom functions
        self.model = model
        self.scopes = []
        self.calls = {}  # module: the scopes of its calls
        self.paused = 0
        self.grad = True
        self.autocast = ()
        self.problems = []
        self.reads = set()  # places where values decided
        self.names = {id(m): n for n, m in model.named_modules()}
        self.paths = {}
        self.kept = {}  # (module, attribute): what it was before a forward set it to a tensor, or _ABSENT

    # -- where things are --

    def unsupported(self, text, frame=None):
        scope = next((s for s in reversed(self.scopes) if s.module is not None), None)
        module = "the loss" if scope is None else "%s (%s)" % (
            "module " + scope.path if scope.path else "the model", type(scope.module).__name__)
        where = frames.where(frame or frames.caller())
        return Unsupported("%s: %s%s" % (module, text, " [%s:%d]" % where if where else ""))

    def _paths_below(self, module):
        found = self.paths.get(id(module))
        if found is None:
            tensors, modules = {}, {}
            for name, t in list(module.named_parameters(remove_duplicate=False)) + list(
                    module.named_buffers(remove_duplicate=False)):
                tensors.setdefault(id(t), name)
            for name, m in module.named_modules(remove_duplicate=False):
                modules.setdefault(id(m), name)
                for key, value in vars(m).items():
                    if isinstance(value, torch.Tensor):
                        tensors.setdefault(id(value), (name + "." if name else "") + key)
            found = self.paths[id(module)] = tensors, modules
        return found

    def tensor_path(self, module, tensor):
        return self._paths_below(module)[0].get(id(tensor)) if module is not None else None

    def modes(self):
        return self.grad, self.autocast

    # -- ops --

    def call(self, function, args, kwargs):
        kind, name = op_name(function)
        if self.paused or not self.scopes:
            return self._compute(function, args, kwargs)
        if getattr(function, "__name__", "") == "_set_grad_enabled":
            self.grad = bool(args[0])
            return None
        if name.rpartition(".")[2] == "_assert" or "_assert" in getattr(function, "__name__", ""):
            return None
        answer = self._question(kind, name, args, kwargs)
        if answer is not NotImplemented:
            return answer
        if kind == "Tensor" and name in _READS:
            return self._read(name, args[0])
        if kind == "Tensor" and name == "__contains__":
            return self._read("item", self.call(torch.Tensor.any, (self.call(torch.Tensor.eq, args, {}),), {}))
        try:
            result = self._compute(function, args, kwargs)
        except Unsupported:
            raise
        except Exception as error:
            raise self._no_values(kind, name, error) from None
        made = tensors_of(result)
        if not made and name != "__setitem__":
            return result
        self._values(function, kind, name, args, kwargs, result)
        frame = frames.caller()
        if not is_known(kind, name):
            text = "%s is not in the net language" % spelled(kind, name)
            self.problems.append(str(self.unsupported(text, frame)))
        scope = self.scopes[-1]
        lowered = tuple(scope.lower(v) for v in args)
        node = scope.graph.call_function(function, lowered, scope.lower(dict(kwargs)))
        return self._made(scope, node, result, args, kwargs, frame)

    # -- values that conditions ask for --

    def _values(self, function, kind, name, args, kwargs, result):
        """Whole numbers that come from nothing but the example are known: positions, masks."""
        given = tensors_of(args) + tensors_of(kwargs)
        if not isinstance(result, torch.Tensor) or result.is_floating_point() or result.numel() > MOST_VALUES or any(
                getattr(t, "net_real", None) is None for t in given) or name in _RANDOM or any(
                result is t for t in given):
            for t in given:
                if t is result or name == "__setitem__":
                    t.net_real = None
            return
        with contextlib.suppress(Exception), torch.device("cpu"):
            result.net_real = function(*real(tuple(args)), **real(dict(kwargs)))

    def _read(self, name, t):
        """What bool(t), t.item() and the like give: the example's value, or under the stand-in, zero."""
        if self.zeros:
            value = torch.zeros(t.size(), dtype=t.dtype, device="cpu")
        else:
            value = getattr(t, "net_real", None)
        if value is None or t.device.type != "meta":
            raise self.unsupported("Tensor.%s reads values that depend on more than the example's whole "
                                   "numbers; a net file is the same whatever the values are" % name)
        where = frames.where(frames.caller())
        self.reads.add("%s:%d" % (where[0].rpartition("/")[2], where[1]) if where else "?")
        return getattr(value, name)()

    def _no_values(self, kind, name, error):
        text = str(error).strip().split("\n")[0]
        if "meta" in text.lower() or "data-dependent" in text.lower() or isinstance(error, NotImplementedError):
            return self.unsupported("%s reads the values of a tensor, or its result's size depends on "
                                    "them; a net file is the same whatever the values are"
                                    % spelled(kind, name))
        return self.unsupported("%s failed: %s" % (spelled(kind, name), text))

    def _made(self, scope, node, result, args, kwargs, frame):
        """Binds the results. One that is an argument again becomes an object of its own: each name's end is seen."""
        given = {id(t) for t in tensors_of(args) + tensors_of(kwargs)}
        host = self._on_host(node, args, kwargs)
        grads = self.grad and any(requires_grad(t) for t in tensors_of(args) + tensors_of(kwargs)) and not (
            node.op == "call_function" and op_name(node.target)[1] in _DETACHED)
        self.paused += 1
        result = own_objects(result, given)
        self.paused -= 1
        for t in tensors_of(result):
            t.net_host = host
            t.net_grad = grads and t.is_floating_point()
        self.note(scope, node, frame)
        return self._bound(scope, node, result)

    @staticmethod
    def _bound(scope, node, result):
        if isinstance(result, torch.Tensor):
            node.meta["is_tensor"], node.meta["ndim"] = True, result.dim()
        else:
            node.meta["layout"] = layout(result)
        scope.bind_parts(result, node)
        return result

    def as_own(self, scope, node, value):
        """`value`, which `node` reads, with tensors that are objects of this scope."""
        self.paused += 1
        value = own_objects(value, {id(t) for t in tensors_of(value)})
        self.paused -= 1
        return self._bound(scope, node, value)

    def note(self, scope, node, frame=None):
        frame = frame or frames.caller()
        node.meta["names"] = frames.target_names(frame)
        node.meta["where"] = frames.where(frame)
        node.meta["modes"] = self.modes()
        node.meta["training"] = scope.module.training if scope.module is not None else True

    def _on_host(self, node, args, kwargs):
        device = kwargs.get("device")
        for value in args:
            if isinstance(value, torch.device):
                device = value
        kind, name = op_name(node.target) if node.op == "call_function" else ("", "")
        if name == "cpu" or (device is not None and torch.device(device).type == "cpu"):
            return True
        if name == "cuda" or device is not None:
            return False
        given = tensors_of(args) + tensors_of(kwargs)
        return all(getattr(t, "net_host", False) for t in given) if given else node.op == "call_function"

    def _question(self, kind, name, args, kwargs):
        """What is asked of a tensor without an op."""
        if kind == "attribute" and name in ("shape", "device", "is_cuda", "is_cpu", "is_meta", "requires_grad"):
            t = args[0]
            host = getattr(t, "net_host", False)
            answers = {"device": torch.device("cpu") if host else CUDA, "is_cuda": not host, "is_cpu": host,
                       "is_meta": False, "requires_grad": requires_grad(t)}
            return self._sizes(t) if name == "shape" else answers[name]
        if kind == "Tensor" and name == "size":
            sizes = self._sizes(args[0])
            dim = args[1] if len(args) > 1 else kwargs.get("dim")
            return sizes if dim is None else sizes[dim]
        if (kind, name) in (("Tensor", "numel"), ("Tensor", "nelement"), ("torch", "numel")):
            t, scope = args[0], self.scopes[-1]
            if id(t) not in scope.nodes:
                return self._compute(torch.Tensor.numel, (t,), {})
            return Size(t.numel(), scope, scope.graph.call_function(count_of, (scope.nodes[id(t)],)))
        if kind == "Tensor" and name in ("cuda", "cpu", "pin_memory") and getattr(
                args[0], "net_host", False) == (name != "cuda"):
            return args[0]
        if kind == "Tensor" and name in ("requires_grad_", "requires_grad.__set__"):
            self._require_grad(args[0], bool((*args[1:], *kwargs.values(), True)[0]))
            return args[0] if name == "requires_grad_" else None  # a setter never releases what it is given
        return NotImplemented

    def _require_grad(self, t, wanted):
        if requires_grad(t) != wanted:
            scope = self.scopes[-1]
            self.note(scope, scope.graph.call_function(set_requires_grad, (scope.node_of(t), wanted)))
            t.net_grad = wanted

    def _sizes(self, t):
        scope = self.scopes[-1]
        node = scope.nodes.get(id(t))
        if node is None:
            return t.size()
        names = frames.target_names(frames.caller())
        sizes = []
        for dim, size in enumerate(t.size()):
            step = scope.graph.call_function(size_of, (node, dim))
            step.meta["names"] = names[dim:dim + 1] if len(names) == t.dim() else []
            sizes.append(Size(size, scope, step))
        return torch.Size(sizes)

    def _compute(self, function, args, kwargs):
        args, kwargs = off_device(tuple(args)), off_device(dict(kwargs))
        name = getattr(function, "__name__", "")
        if name in ("cuda", "cpu", "pin_memory") and args and isinstance(args[0], torch.Tensor):
            return args[0]
        return function(*args, **kwargs)

    # -- modules --

    def module(self, module, args, kwargs, original):
        if self.paused or not self.scopes:
            return original(module, *args, **kwargs)
        scope = self.scopes[-1]
        path = self._paths_below(scope.module)[1].get(id(module)) if scope.module is not None else None
        if path is None and not any(True for _ in module.parameters()) or self.names.get(id(module)) in self.inline:
            return original(module, *args, **kwargs)  # made by forward itself, or inline: its ops are forward's
        if path is None:
            raise self.unsupported("it calls a module (%s) that is not below it" % type(module).__name__)
        if module._backward_hooks or module._backward_pre_hooks:
            raise self.unsupported("%s has hooks for backward" % path)
        frame = frames.caller()
        if leaves.is_leaf(module):
            lowered = tuple(scope.lower(v) for v in args)
            node = scope.graph.create_node("call_module", path, lowered, scope.lower(kwargs))
            self.paused += 1
            try:
                result = original(module, *args, **kwargs)
            finally:
                self.paused -= 1
            return self._made(scope, node, result, args, kwargs, frame)
        return self._inside(module, path, args, kwargs, original, frame)

    def _inside(self, module, path, args, kwargs, original, frame):
        scope = self.scopes[-1]
        child = Scope(self, module, self.names.get(id(module), path))
        args, kwargs, taken = _enter(child, module, args, kwargs)
        node = scope.graph.create_node("call_module", path, tuple(scope.lower(v) for v in taken))
        node.meta["stars"] = [p.startswith("*") for p in child.parameters]
        held = [(v, [id(part) for part in v]) for v in (*args, *kwargs.values()) if isinstance(v, (list, dict))]
        self.scopes.append(child)
        try:
            result = original(module, *args, **kwargs)
            if any([id(part) for part in v] != before for v, before in held):
                raise Inline(child.path, self.unsupported("it changes a list or dict of its caller"))
            self._leave(child, result)
        finally:
            self.scopes.pop()
        self.calls.setdefault(module, []).append(child)
        return self._made(scope, node, result, args, kwargs, frame)

    def set_attribute(self, module, name, value):
        """A forward keeps a tensor in an attribute of a module, or lets go of one there."""
        old = vars(module).get(name, module._buffers.get(name, _ABSENT))
        if self.paused or not self.scopes or not (
                isinstance(value, torch.Tensor) or value is None and isinstance(old, torch.Tensor)):
            return
        scope = self.scopes[-1]
        path = self._paths_below(scope.module)[1].get(id(module)) if scope.module is not None else None
        if path is None or isinstance(value, torch.Tensor) and id(value) not in scope.nodes:
            return
        self.kept.setdefault((module, name), old)
        self.paths.clear()
        node = scope.nodes[id(value)] if value is not None else None
        self.note(scope, scope.graph.call_function(setattr, (path, name, node)))

    def restore(self):
        """Modules are as they were before the run."""
        for (module, name), old in self.kept.items():
            held = module._buffers if name in module._buffers else vars(module)
            held[name] = old
            if old is _ABSENT:
                del held[name]

    def _is_kept(self, key):
        return any(id(vars(m).get(name, m._buffers.get(name))) == key for m, name in self.kept)

    def _leave(self, child, result):
        if child.leftovers(result):
            gc.collect()
        for key in child.leftovers(result):
            if self._is_kept(key):
                continue
            name = next((n for n, v in vars(child.module).items() if id(v) == key), None)
            refusal = self.unsupported("a tensor it makes outlives its forward without being returned")
            if name is None and child.path:
                raise Inline(child.path, refusal)
            if name is None:
                raise refusal
            child.graph.call_function(setattr, ("", name, child.nodes[key]))
        child.finish(_plain(self, result))

    def apply(self, cls, args):
        """A custom function, with the forward and backward of its class."""
        scope, frame, grad = self.scopes[-1], frames.caller(), self.grad
        needs = tuple(grad and any(requires_grad(t) for t in tensors_of(a)) for a in args)
        self.grad = False
        try:
            applied, result, taken = functions.record(self, cls, args, needs)
        finally:
            self.grad = grad
        self.functions.append(applied)
        node = scope.graph.call_function(applied, tuple(scope.lower(v) for v in taken))
        return self._made(scope, node, result, tuple(taken), {}, frame)

    # -- the run --

    def run(self, args, kwargs, root_argument):
        """Records model(*args, **kwargs). `root_argument`: the one parameter of the net file's model; None: as it
        is."""
        child = Scope(self, self.model, "")
        with self._patched():
            if root_argument is None:
                args, kwargs, _ = _enter(child, self.model, args, kwargs)
            else:
                node = child.graph.placeholder(root_argument)
                child.parameters = [root_argument]
                child.bind_parts(kwargs or args, node)
            self.scopes.append(child)
            try:
                result = self.model_call(self.model, *args, **kwargs)
                self._leave(child, result)
            finally:
                self.scopes.pop()
        self.calls.setdefault(self.model, []).append(child)
        return result

    def run_loss(self, loss, output, target):
        scope = Scope(self, None, "")
        with self._patched():
            output, target = scope.argument("output", output), scope.argument("target", target)
            self.scopes.append(scope)
            try:
                result = loss(output, target)
                scope.finish(result)
            finally:
                self.scopes.pop()
        return scope

    @contextlib.contextmanager
    def _patched(self):
        recorder, original, original_set = self, nn.Module.__call__, nn.Module.__setattr__
        autocast = torch.amp.autocast_mode.autocast
        checkpoint = torch.utils.checkpoint

        def call(module, *args, **kwargs):
            return recorder.module(module, args, kwargs, original)

        def apply(cls, *args):
            return recorder.apply(cls, args)

        def set_attribute(module, name, value):
            recorder.set_attribute(module, name, value)
            original_set(module, name, value)

        def checkpointed(*args, **kwargs):
            raise recorder.unsupported("torch.utils.checkpoint: switch the model's own checkpointing off, "
                                       "the toggle `checkpoint` takes its place")

        def enter(self):
            recorder.autocast += ((self.device, bool(self._enabled), self.fast_dtype),)

        def leave(self, *args):
            recorder.autocast = recorder.autocast[:-1]

        changes = [(nn.Module, "__call__", call), (nn.Module, "__setattr__", set_attribute),
                   (torch, "is_grad_enabled", lambda: recorder.grad),
                   (autocast, "__enter__", enter), (autocast, "__exit__", leave),
                   (torch.autograd.Function, "apply", classmethod(apply)),
                   *((checkpoint, n, checkpointed) for n in _CHECKPOINT if hasattr(checkpoint, n))]
        kept = [(o, n, vars(o).get(n)) for o, n, _ in changes]
        self.model_call = original
        collecting = gc.isenabled()
        for o, n, new in changes:
            setattr(o, n, new)
        gc.disable()
        try:
            with torch.inference_mode(), torch.device("meta"), _Mode(self):
                yield
        finally:
            for o, n, old in kept:
                if old is None:
                    delattr(o, n)
                else:
                    setattr(o, n, old)
            if collecting:
                gc.enable()


def spelled(kind, name):
    return {"F": "torch.nn.functional.", "torch": "torch.", "Tensor": "Tensor.", "attribute": "Tensor.",
            "": ""}[kind] + name


def _enter(child, module, args, kwargs):
    """Makes parameters of what holds tensors or sizes; (args, kwargs, those values as the caller has them)."""
    signature = list(inspect.signature(module.forward).parameters.values())
    named = [p.name for p in signature if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    star = next((p.name for p in signature if p.kind is p.VAR_POSITIONAL), "args")
    taken, args, kwargs = [], list(args), dict(kwargs)
    for at, value in enumerate(args[:len(named)]):
        if has_symbols(value):
            taken.append(value)
            args[at] = child.argument(named[at], value)
    rest = tuple(args[len(named):])
    if has_symbols(rest):
        taken.append(rest)
        args[len(named):] = child.argument("*" + star, rest)
        named = named + list(kwargs)
    for key in [n for n in named if n in kwargs] + [k for k in kwargs if k not in named]:
        if has_symbols(kwargs[key]):
            taken.append(kwargs[key])
            kwargs[key] = child.argument(key, kwargs[key])
    return tuple(args), kwargs, taken


def _plain(recorder, value):
    """A result in the words of the net language: objects with fields are dicts."""
    if isinstance(value, (torch.Tensor, bool, int, float, str, type(None))):
        return value
    if isinstance(value, (tuple, list)):
        items = [_plain(recorder, v) for v in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict) or is_plain_object(value):
        return {k: _plain(recorder, v) for k, v in parts(value) if v is not None}
    raise recorder.unsupported("forward returns a %s; return tensors, tuples, lists or dicts (for models with a "
                               "key-value cache: use_cache=False)" % type(value).__name__)
