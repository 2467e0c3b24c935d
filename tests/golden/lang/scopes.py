"""Where names live. One function each; the order of slots is what matters."""
import torch
from torch import nn


def parameters(a, b=1, /, c=2, *args, d, e=3, **kwargs):
    z = y = x = 0


def value_before_target(x):
    b = a = x
    (d, e) = (c := 1), [f for f in x]
    g.h, i[j] = k
    l += m


def loops(n):
    for i in range(n):
        for j, (k, *l) in i:
            pass
    else:
        m = 1
    while (o := n):
        p = o
    with n as q, q as (r, s):
        t = u = 1
    if v:
        v = 1
    elif w:
        w = 1


def load_before_store():
    print(z)
    y = z
    z = x
    x = del_me
    del del_me


def imports():
    import a.b.c
    import d.e as f
    from g import h, i as j


def definitions(p=lambda: 1):
    @deco
    def f(a=p, *, b=q) -> r:
        pass

    class C(base):
        pass

    deco = q = r = base = 1


def annotations():
    a: b
    c: d = e
    b = d = e = f.g
    a = 1
    f.g: h
    h = 1


def cells(a, b, *c, d, **e):
    f = g = h = 1
    z = lambda: (a, c, f, z)

    def inner(x):
        nonlocal g
        g = x
        return b, lambda: (h, x)

    return inner


def deep(x):
    def one():
        def two():
            def three():
                return x
            return three
        return two
    return one


def declared(a):
    global g1, g2

    def g1():
        def inside():
            return a
        return inside

    class g2:
        def method(self):
            return a


class Net(nn.Module):
    size = 3
    table = [size_ for size_ in range(3)]
    pairs = {k: [v for v in (k, 1)] for k in range(2)}
    lambdas = [lambda: n for n in range(3)]

    def __init__(self, x):
        super().__init__()
        self.__x = __x = x

    def forward(self, x, *rest):
        def helper():
            return self, __class__
        return [super().forward(y) for y in x], helper

    @property
    def no_class(self):
        return self

    class Inner:
        def f(self):
            return __class__


def class_in_function(a, b):
    class Local:
        a = a
        c = b

        def f(self):
            return a, b

    return Local


def comprehensions(x, y):
    a = [b for b in x]
    c = [d + e for d in x for e in d if e]
    f = {g: h for g, h in x}
    i = [[j for j in k] for k in x]
    b = [x for x in x]
    l = [y for y in [m for m in y]]
    return a


def captured_in_comprehension(x):
    a = [lambda: b for b in x]
    c = [[lambda: (d, e) for e in d] for d in x]
    x = [lambda: x for x in x]
    f = 1
    g = [lambda: f for h in x]


def walrus(x):
    a = [(b := c) for c in x if (d := c)]
    e = [[(f := h) for h in g] for g in x]
    return [lambda: i for j in x if (i := j)]


def generators(x, y):
    a = sum(b for b in x)
    c = sum(d + y for d in x for e in d)
    f = any((g := h) for h in x)
    i = max([j for j in k] for k in x)
    l = sum(sum(m for m in n) for n in x)
    return lambda: sum(o + x for o in a)


def global_and_local(x):
    global glob
    glob = local = x
    return [glob for y in x], len(local)


def unbound_branch(flag):
    if flag:
        early = 1
    late = 2
    return early


lambda a, b=1, *c, d: (e := a)
(lambda: (lambda x: x))
total = sum(f(x) for x in y)
[lambda: z for z in y]
if (walrus_ := 1):
    def nested(): return [walrus_ for _ in y]
