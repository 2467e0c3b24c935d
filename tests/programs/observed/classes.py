"""tests/programs/observed/classes.py - containers, tensors and objects whose classes have methods of their own: the
recorder examines what is in them, and calls none of these methods."""
import collections
import sys

import torch
from figures import figures
from torch import nn

called = []


def method(name, base):
    def call(self, *args):
        called.append("%s.%s" % (type(self).__name__, name))
        return getattr(base, name)(self, *args)

    return call


def deaf(name, base):
    """A class that notes each call of a method that iterates, counts or finds."""
    wanted = ("__len__", "__iter__", "__getitem__", "__contains__", "__bool__", "__eq__", "__hash__", "values", "items",
              "keys", "copy", "__getattribute__", "__getattr__")
    return type(name, (base,), {one: method(one, base) for one in wanted if hasattr(base, one)})


class Losses(deaf("List", list)):
    __slots__ = ("inner",)  # never set


class Box:
    @property
    def __class__(self):
        called.append("__class__")
        return list

    def __getattribute__(self, name):
        called.append("__getattribute__ " + name)
        return object.__getattribute__(self, name)


class Weight(torch.Tensor):
    @property
    def is_cuda(self):
        called.append("is_cuda")
        return False

    @property
    def grad_fn(self):
        called.append("grad_fn")

    def untyped_storage(self):
        called.append("untyped_storage")

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        called.append("__torch_function__")
        return super().__torch_function__(function, types, args, kwargs or {})


Past, Ring, Bag, Pair = deaf("Past", dict), deaf("Ring", collections.deque), deaf("Bag", set), deaf("Pair", tuple)


def main():
    model = nn.Linear(64, 64).cuda()
    losses, past, ring, bag, box = Losses(), Past(), Ring(), Bag(), Box()
    object.__setattr__(box, "a\nb|c", [])
    weight = torch.ones(64, 64, device="cuda").as_subclass(Weight)
    for step in range(7):
        out = model(torch.ones(32, 64, device="cuda"))
        pair = Pair((out, step))
        list.append(losses, out.sum())
        dict.__setitem__(past, step, out)
        collections.deque.append(ring, out.detach())
        set.add(bag, step)
        object.__getattribute__(box, "__dict__")["a\nb|c"].append(out.detach())
    del weight, pair
    if called:
        sys.exit("called: %s" % ", ".join(sorted(set(called))))
    figures()


main()
