"""sample_nets/tools/netwriter/classes.py - modules become classes: those of one type that differ in numbers alone share
one, with the numbers as parameters."""
import keyword
import re

import torch
from torch import nn

from . import leaves
from .body import Body
from .text import Holes, Inexpressible, fill, literal


class Group:
    """A class of the net file."""

    def __init__(self, module, base, text, holes):
        self.module = module  # the first of its modules
        self.base = base
        self.text = text
        self.holes = [holes]  # those of each of its modules
        self.name = None

    def settle(self, taken):
        """Decides which numbers are parameters, and what they are called."""
        rows = [[repr(v) for _, v, _ in holes.found] for holes in self.holes]
        self.labels, columns = {}, {}
        for k, (label, value, optional) in enumerate(self.holes[0].found):
            column = tuple(row[k] for row in rows)
            if len(set(column)) > 1:
                columns.setdefault(column, []).append(k)
        used = set(taken)
        for places in columns.values():
            label = self._label([self.holes[0].found[k][0] for k in places], used)
            used.add(label)
            for k in places:
                self.labels[k] = label
        self.parameters = [self.labels[places[0]] for places in columns.values()]
        self.at = [places[0] for places in columns.values()]

    @staticmethod
    def _label(labels, used):
        names = [part for label in labels for part in (label.rpartition("__")[2], label.replace("__", "_"))]
        names = ["".join(c if c.isalnum() else "_" for c in n).strip("_") or "value" for n in names]
        names = [n + "_" if keyword.iskeyword(n) else "n" + n if n[0].isdigit() else n for n in names]
        free = [n for n in names if n not in used]
        if free:
            return free[0]
        k = 2
        while "%s_%d" % (names[0], k) in used:
            k += 1
        return "%s_%d" % (names[0], k)

    def words(self, in_forward):
        out = []
        for k, (_, value, optional) in enumerate(self.holes[0].found):
            label = self.labels.get(k)
            word = literal(value) if label is None else ("self." if in_forward else "") + label
            if optional is not None:
                word = "" if label is None and value == optional.default and type(value) is type(
                    optional.default) else ", %s=%s" % (optional.name, word)
            out.append(word)
        return out

    def values_of(self, holes):
        return [(label, holes.found[k][1]) for label, k in zip(self.parameters, self.at)]


class Classes:
    def __init__(self, recorder, later, evaluated, originals):
        self.recorder = recorder
        self.later = later  # of the run after that; None: it is the same
        self.evaluated = evaluated  # modules and calls of them in eval mode; None where that cannot run
        self.originals = originals
        self.groups = []
        self.group_of = {}  # module: (group, its holes)
        self.notes = []
        self.by_name = dict(recorder.model.named_modules())

    # -- which modules are classes --

    def is_inline(self, module):
        """A container that is written where it stands."""
        return type(module) in leaves.CONTAINERS

    def is_class(self, module):
        return not leaves.is_leaf(module) and not self.is_inline(module)

    def _height(self, module, seen):
        if module not in seen:
            below = [self._height(m, seen) for m in module._modules.values() if m is not None]
            seen[module] = max(below, default=0) + (1 if self.is_class(module) else 0)
        return seen[module]

    def build(self):
        """All classes, those that others need first."""
        heights = {}
        self._height(self.recorder.model, heights)
        if not self.is_class(self.recorder.model):
            heights[self.recorder.model] = max(heights.values()) + 1
        order = [m for m in self.recorder.model.modules() if self.is_class(m) or m is self.recorder.model]
        for height in range(1, max(heights.values()) + 1):
            fresh = []
            for module in order:
                if heights[module] == height:
                    self._add(module, fresh)
            for group in fresh:
                group.name = self._class_name(type(group.module).__name__)
                group.settle(set(dir(nn.Module)) | set(vars(group.module)) | set(group.module._modules) | set(
                    group.module._parameters) | set(group.module._buffers) | {"self", "torch", "nn", "F", "is_first"})
                self.groups.append(group)
        return self.groups

    def _class_name(self, name):
        names = {g.name for g in self.groups}
        k, found = 1, name
        while found in names:
            k += 1
            found = "%s%d" % (name, k)
        return found

    def _add(self, module, fresh):
        holes = Holes()
        base = self._base(module)
        lines = self._init(module, base, holes)
        if self._runs_otherwise_later(module):
            forward = self._first_and_later(module, holes)
            lines.append("self.is_first = True")
        else:
            forward = self._forward(module, holes)
        text = (tuple(lines), forward)
        for group in fresh:
            if type(group.module) is type(module) and group.text == text:
                group.holes.append(holes)
                break
        else:
            group = Group(module, base, text, holes)
            fresh.append(group)
        self.group_of[module] = (group, holes)

    def _base(self, module):
        for base in (nn.Sequential, nn.ModuleList, nn.ModuleDict):
            if isinstance(module, base):
                return "nn." + base.__name__
        return "nn.Module"

    # -- __init__ --

    def _init(self, module, base, holes):
        lines = []
        for name, p in module._parameters.items():
            if p is not None:
                lines += self._register(name, "nn.Parameter(%s%s)" % (
                    self._like(p, name, holes), "" if p.requires_grad or p.is_floating_point() else
                    ", requires_grad=False"), "self")
        for name, b in module._buffers.items():
            if b is not None:
                keep = "" if name not in module._non_persistent_buffers_set else ", persistent=False"
                lines.append('self.register_buffer("%s", %s%s)' % (name, self._like(b, name, holes), keep))
            else:
                lines.append('self.register_buffer("%s", None)' % name)
        for name, t in vars(module).items():
            if isinstance(t, torch.Tensor):
                lines.append("self.%s = %s" % (name, self._like(t, name, holes)))
        built = {}
        children = [(n, m) for n, m in module._modules.items() if m is not None]
        if base == "nn.Sequential" and self._is_counted(module) and not lines:
            return ["super().__init__(%s)" % ", ".join(self._make(m, n, holes) for n, m in children)]
        for name, child in children:
            lines += self._child("self", name, child, built, holes)
        return ["super().__init__()"] + lines

    @staticmethod
    def _is_counted(module):
        return list(module._modules) == [str(i) for i in range(len(module._modules))]

    @staticmethod
    def _register(name, value, owner):
        return ["%s.%s = %s" % (owner, name, value)] if name.isidentifier() else [
            '%s.register_parameter("%s", %s)' % (owner, name, value)]

    def _child(self, owner, name, child, built, holes):
        """Statements that make `child` the child `name` of `owner`."""
        if name.isidentifier() and not keyword.iskeyword(name):
            target, form = "%s.%s" % (owner, name), "%s.%s = %%s" % (owner, name)
        else:
            target, form = 'getattr(%s, "%s")' % (owner, name), '%s.add_module("%s", %%s)' % (owner, name)
        if child in built:
            return [form % built[child]]
        built[child] = target
        if self._is_expression(child):
            return [form % self._make(child, name, holes)]
        lines = [form % ("nn.%s()" % type(child).__name__)]
        for key, inner in child._modules.items():
            if inner is not None:
                lines += self._child(target, key, inner, built, holes)
        return lines

    def _is_expression(self, module):
        if not self.is_inline(module) or isinstance(module, (nn.ParameterList, nn.ParameterDict)):
            return True
        if not isinstance(module, nn.ModuleDict) and not self._is_counted(module):
            return False
        inner = [m for m in module._modules.values()]
        return len(set(inner)) == len(inner) and all(m is not None and self._is_expression(m) for m in inner)

    def _make(self, module, hint, holes):
        """The expression that constructs a module."""
        if leaves.is_leaf(module):
            self._check(module)
            return leaves.constructor(module, holes, hint + "_")
        if isinstance(module, (nn.ParameterList, nn.ParameterDict)) and self.is_inline(module):
            return self._make_parameters(module, hint, holes)
        if self.is_inline(module):
            inner = [(k, self._make(m, "%s_%s" % (hint, k), holes)) for k, m in module._modules.items()]
            if isinstance(module, nn.ModuleDict):
                return "nn.ModuleDict({%s})" % ", ".join('"%s": %s' % pair for pair in inner)
            words = ", ".join(text for _, text in inner)
            return "nn.Sequential(%s)" % words if isinstance(module, nn.Sequential) else (
                "nn.ModuleList([%s])" % words)
        group, own = self.group_of[module]
        words = [holes.add("%s__%s" % (hint, label), value) for label, value in group.values_of(own)]
        return "%s(%s)" % (group.name, ", ".join(words))

    def _make_parameters(self, module, hint, holes):
        items = [(k, "nn.Parameter(%s)" % self._like(p, hint, holes)) for k, p in module.named_parameters()]
        if isinstance(module, nn.ParameterDict):
            return "nn.ParameterDict({%s})" % ", ".join('"%s": %s' % pair for pair in items)
        return "nn.ParameterList([%s])" % ", ".join(text for _, text in items)

    def _check(self, module):
        """A module made anew from its text is the one there is."""
        holes = Holes()
        text = leaves.constructor(module, holes, "")
        words = []
        for _, value, optional in holes.found:
            words.append(literal(value) if optional is None else "" if value == optional.default else
                         ", %s=%s" % (optional.name, literal(value)))
        with torch.device("meta"):
            again = eval(fill(text, words), {"nn": nn, "torch": torch})
        same = leaves.settings(again) == leaves.settings(module) and [
            (n, p.shape) for n, p in again.named_parameters()] == [
            (n, p.shape) for n, p in module.named_parameters()]
        if not same:
            raise Inexpressible("module %s (%s) is not what its constructor makes: %s instead of %s" % (
                self.recorder.names.get(id(module)), type(module).__name__, leaves.settings(module),
                leaves.settings(again)))

    def _like(self, t, name, holes):
        """An expression for a tensor of the same shape, and where that is simple, of the same values."""
        shape = ", ".join(holes.add("%s__size" % name, int(s)) for s in t.shape) or "()"
        real = self.originals.get(id(t))
        dtype = "" if t.is_floating_point() else ", dtype=%s" % t.dtype
        value = constant(real)
        if value is not None:
            if value in (0, 1):
                return "torch.%s(%s%s)" % ("ones" if value else "zeros", shape, dtype)
            return "torch.full((%s), %s%s)" % (shape + "," if t.dim() else "", literal(value), dtype)
        if dtype and t.dim() == 1 and real is not None and real.device.type != "meta" and bool(
                (real == torch.arange(len(real))).all()):
            return "torch.arange(%s)" % shape
        if t.is_floating_point():
            return "torch.randn(%s) * 0.02" % shape
        if t.dim() >= 2 and _is_lower(real):
            return "torch.ones(%s%s).tril()" % (shape, dtype)
        return "torch.zeros(%s%s)" % (shape, dtype)

    # -- forward --

    def _runs_otherwise_later(self, module):
        """It keeps tensors of its first forward."""
        if self.later is None:
            return False
        first, second = Holes(), Holes()
        return (self._one(module, self.recorder.calls, first) != self._one(module, self.later.calls, second)
                or first.found != second.found)

    def _first_and_later(self, module, holes):
        name = self.recorder.names[id(module)]
        first, later = (self._one(module, calls, holes) for calls in (self.recorder.calls, self.later.calls))
        if first is None or later is None or first[0] != later[0]:
            raise Inexpressible("module %s (%s) takes other arguments the second time" % (
                name, type(module).__name__))
        if self.evaluated is not None:
            twin = self.evaluated[0].get(name)
            if twin is None or self._one(twin, self.evaluated[1], Holes()) != self._one(
                    module, self.recorder.calls, Holes()):
                self.notes.append("%s runs otherwise in eval mode: grad=eval is not that of the model" % name)
        return self._function((first[0], ["if self.is_first:", "    self.is_first = False"] + [
            "    " + line for line in first[1]] + later[1]))

    def _forward(self, module, holes):
        trained = self._one(module, self.recorder.calls, holes)
        if trained is None or self.evaluated is None:
            return self._function(trained)
        twin = self.evaluated[0].get(self.recorder.names[id(module)])
        evaluated = self._one(twin, self.evaluated[1], Holes()) if twin is not None else None
        if evaluated is None:
            return self._function(trained)
        first, second = Holes(), Holes()
        trained_alone = self._one(module, self.recorder.calls, first)
        evaluated = self._one(twin, self.evaluated[1], second)
        if trained_alone == evaluated and first.found == second.found or evaluated[0] != trained[0]:
            if evaluated[0] != trained[0]:
                self.notes.append("%s takes other arguments in eval mode: grad=eval is not that of the model"
                                  % self.recorder.names[id(module)])
            return self._function(trained)
        evaluated = self._one(twin, self.evaluated[1], holes)
        return self._function((trained[0], ["if self.training:"] + ["    " + l for l in trained[1]] + evaluated[1]))

    @staticmethod
    def _function(pair):
        if pair is None:
            return None
        return "def forward(self%s):" % "".join(", " + p for p in pair[0]), tuple(pair[1])

    def _one(self, module, calls, holes):
        """(parameters, lines) of forward; every call of it must have run the same way."""
        if type(module).forward in (nn.Sequential.forward, nn.Module.forward):
            return None
        scopes = calls.get(module, [])
        if not scopes:
            return None
        found = None
        for scope in scopes:
            own = holes if found is None else Holes()
            before = len(holes.found) if found is None else 0
            try:
                body = Body(scope, own).write()
            except Inexpressible as error:
                raise Inexpressible("module %s (%s): %s" % (scope.path or "(the model)", type(module).__name__, error))
            values = [v for _, v, _ in own.found[before:]]
            if found is None:
                found, kept = body, values
            elif [_bare(l) for l in body[1]] != [_bare(l, before_first) for l in found[1]] or values != kept:
                raise Inexpressible("module %s (%s) is called in different ways, with other shapes or arguments; a net "
                                    "file's module has one forward" % (scope.path, type(module).__name__))
            if len(scopes) == 1:
                break
            before_first = before if own is holes else before_first
        return found


def _bare(line, offset=0):
    """A line with its holes counted from the first of the function."""
    return re.sub("\ue000(\\d+)\ue001", lambda m: "\ue000%d\ue001" % (int(m.group(1)) - offset), line)


class Functions:
    """Custom functions, as classes: calls with one text share a class."""

    def __init__(self):
        self.classes = []  # (the function's class, its text, its name in the file)

    def add(self, calls):
        """Names the functions of one recording's calls, those that others call first."""
        for applied in calls:
            text = tuple(self._method(applied, which) for which in ("forward", "backward"))
            for cls, known, name in self.classes:
                if cls is applied.cls and known == text:
                    applied.name = name
                    break
            else:
                applied.name = self._free(applied.cls.__name__)
                self.classes.append((applied.cls, text, applied.name))

    def _free(self, wanted):
        names, k, found = {name for _, _, name in self.classes}, 1, wanted
        while found in names:
            k += 1
            found = "%s%d" % (wanted, k)
        return found

    @staticmethod
    def _method(applied, which):
        holes = Holes()
        parameters, lines = Body(getattr(applied, which), holes).write()
        words = [literal(v) for _, v, _ in holes.found]
        return ("def %s(ctx%s):" % (which, "".join(", " + p for p in parameters)),
                tuple(fill(line, words) for line in lines))

    def lines(self):
        out = []
        for cls, text, name in self.classes:
            out += ["# %s.%s" % (cls.__module__, cls.__qualname__), "class %s(torch.autograd.Function):" % name]
            for header, lines in text:
                out += ["    @staticmethod", "    " + header] + ["        " + line for line in lines] + [""]
            out += [""]
        return out


def constant(t):
    """The one value that all elements have, or None."""
    if t is None or t.device.type == "meta" or t.numel() == 0 or t.numel() > 50_000_000:
        return None
    with torch.no_grad():
        first = t.flatten()[0] if t.dim() else t
        if not bool((t == first).all()):
            return None
        value = first.item()
    return int(value) if isinstance(value, bool) else value


def _is_lower(t):
    if t is None or t.device.type == "meta" or t.numel() > 50_000_000:
        return False
    return bool((t == torch.ones_like(t).tril()).all())


def class_lines(group):
    """The class as it stands in the file."""
    init, forward = group.text
    words = group.words(False)
    kind = type(group.module)
    out = ["# %s.%s" % (kind.__module__, kind.__qualname__), "class %s(%s):" % (group.name, group.base)]
    body = [fill(line, words) for line in init]
    in_forward = set()
    if forward is not None:
        for line in forward[1]:
            in_forward |= {k for k in group.labels if "\ue000%d\ue001" % k in line}
    kept = [label for label in group.parameters if any(group.labels[k] == label for k in in_forward)]
    body += ["self.%s = %s" % (label, label) for label in kept]
    if body != ["super().__init__()"]:
        out.append("    def __init__(self%s):" % "".join(", " + p for p in group.parameters))
        out += ["        " + line for line in body]
    if forward is not None:
        if body != ["super().__init__()"]:
            out.append("")
        out.append("    " + forward[0])
        words = group.words(True)
        out += ["        " + fill(line, words) for line in forward[1]]
    if len(out) == 2:
        out.append("    pass")
    return out
