"""sample_nets/tools/netwriter/sizes.py - sizes of tensors that remember where they come from.

A `Size` is an int to the model's own code, so its conditions and loops take the way they take with the example; but
it knows the node that computed it, so that what is written into the net file is `x.shape[0]` and not 8.
"""
import operator


class Size(int):
    """An int with the graph it was computed in and its node there."""

    def __new__(cls, value, scope, node):
        self = int.__new__(cls, value)
        self.scope = scope
        self.node = node
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return int, (int(self),)


def _step(name, reflected):
    function = getattr(operator, name)

    def method(self, other):
        if type(other) not in (int, Size):
            return getattr(int, "__r%s__" % name if reflected else "__%s__" % name)(self, other)
        left, right = (other, self) if reflected else (self, other)
        value = function(int(left), int(right))
        if isinstance(other, Size) and other.scope is not self.scope:
            return value
        parts = tuple(p.node if isinstance(p, Size) else p for p in (left, right))
        return Size(value, self.scope, self.scope.size_step(function, parts))

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(Size, "__%s__" % _name, _step(_name, False))
    setattr(Size, "__r%s__" % _name, _step(_name, True))
