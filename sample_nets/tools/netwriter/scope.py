"""sample_nets/tools/netwriter/scope.py - one call of one module as a torch.fx graph: its ops, and the points at which
its tensors are freed."""
import dataclasses
import operator
import weakref

import torch

from .sizes import Size


class Unsupported(Exception):
    """The model has something that a net file cannot say; the text names the module."""


def dropped(value):
    """Target of the nodes that mark where the last reference to a value goes."""


def size_of(tensor, dim):
    """Target of the nodes for `tensor.shape[dim]`."""


def count_of(tensor):
    """Target of the nodes for `tensor.numel()`."""


def set_requires_grad(tensor, wanted):
    """Target of the nodes for `tensor.requires_grad = wanted`."""


def is_plain_object(value):
    return dataclasses.is_dataclass(value) and not isinstance(value, (type, dict))


def parts(value):
    """Pairs (key, part) of a container, or None. Objects with fields are dicts to a net file."""
    if isinstance(value, (tuple, list)):
        return list(enumerate(value))
    if isinstance(value, dict):
        return list(value.items())
    if is_plain_object(value):
        return [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]
    return None


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for _, part in parts(value) or () for t in tensors_of(part)]


def has_symbols(value):
    if isinstance(value, (torch.Tensor, Size)):
        return True
    return any(has_symbols(part) for _, part in parts(value) or ())


class Scope:
    """The graph of one call. `recorder` knows what is the same for all calls."""

    def __init__(self, recorder, module, path):
        self.recorder = recorder
        self.module = module
        self.path = path
        self.graph = torch.fx.Graph()
        self.modes = recorder.modes()
        self.nodes = {}  # id of a living tensor: its node here
        self.refs = {}
        self.containers = []  # [(node, ids of its tensors)]: lists that came as one argument
        self.parameters = []  # names of the arguments, in order; a star before that of *args
        self.closed = False

    # -- values --

    def bind(self, tensor, node):
        key = id(tensor)
        self.nodes[key] = node
        self.refs[key] = weakref.ref(tensor, lambda _, key=key: self._died(key))

    def _died(self, key):
        self.refs.pop(key, None)
        node = self.nodes.pop(key)
        if not self.closed:
            self.graph.call_function(dropped, (node,))

    def bind_parts(self, value, node):
        """Gives every tensor inside `value`, which `node` makes, a node that picks it."""
        if isinstance(value, torch.Tensor):
            node.meta["is_tensor"], node.meta["ndim"] = True, value.dim()
            if id(value) not in self.nodes:
                self.bind(value, node)
            return
        for key, part in parts(value) or ():
            if tensors_of(part):
                self.bind_parts(part, self.graph.call_function(operator.getitem, (node, key)))

    def size_step(self, function, arguments):
        return self.graph.call_function(function, arguments)

    def rehome(self, value, node):
        """`value` as this scope sees it: sizes computed elsewhere become parts of `node`."""
        if isinstance(value, Size):
            return Size(int(value), self, node)
        if type(value) in (tuple, list) and has_symbols(value):
            return type(value)([
                self.rehome(part, self.graph.call_function(operator.getitem, (node, i)))
                if isinstance(part, (Size, tuple, list)) and has_symbols(part) else part
                for i, part in enumerate(value)])
        return value

    def argument(self, name, value):
        """A parameter of forward; gives the value to call it with."""
        node = self.graph.placeholder(name.lstrip("*"))
        self.parameters.append(name)
        value = self.rehome(value, node)
        if isinstance(value, (list, tuple)) and tensors_of(value):
            self.containers.append((node, [id(v) for v in value], type(value)))
        self.bind_parts(value, node)
        return value

    # -- what the graph's nodes take --

    def lower(self, value):
        if isinstance(value, Size):
            return value.node if value.scope is self else int(value)
        if isinstance(value, torch.Tensor):
            return self.node_of(value)
        if isinstance(value, (tuple, list)):
            ids = [id(v) for v in value]
            for node, known, _ in self.containers:
                if ids == known and not any(isinstance(v, Size) for v in value):
                    return node
            items = [self.lower(v) for v in value]
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, dict):
            return {k: self.lower(v) for k, v in value.items() if v is not None}
        if isinstance(value, slice):
            return slice(self.lower(value.start), self.lower(value.stop), self.lower(value.step))
        if is_plain_object(value) and tensors_of(value):
            return {k: self.lower(v) for k, v in parts(value) if v is not None}
        return value

    def node_of(self, tensor):
        node = self.nodes.get(id(tensor))
        if node is not None:
            return node
        path = self.recorder.tensor_path(self.module, tensor)
        if path is None:
            raise self.recorder.unsupported(
                "a tensor of shape %s is neither an argument of its forward, nor made there, nor a "
                "parameter or buffer below it" % list(tensor.size()))
        return self.graph.create_node("get_attr", path)

    def leftovers(self, result):
        """Tensors made here that live on although forward did not return them."""
        mine = {id(t) for t in tensors_of(result)}
        for node in self.graph.nodes:
            if node.op == "placeholder":
                mine |= {k for k, n in self.nodes.items() if _root(n) is node}
        return [k for k in self.nodes if k not in mine]

    def finish(self, result):
        lowered = self.lower(result)
        self.closed = True
        self.graph.output(lowered)


def _root(node):
    while node.op == "call_function" and node.target is operator.getitem:
        node = node.args[0]
    return node
