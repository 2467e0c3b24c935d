"""Every kind of statement. What they do does not matter: the files are only read."""
from __future__ import division
import torch
import torch.nn.functional as F, torch . nn
from torch.nn import Linear
from torch.utils.checkpoint import (checkpoint, checkpoint_sequential as seq,)

# names, attributes, items, tuples, chains
a = 1
a = b = c = 2
a.b.c = a[0] = a[1:2] = 3
a, b = b, a
(a, b), [c, d] = (1, 2), [3, 4]
a, = 1,
*a, b = c
a, *b.c = [*c, *d]
[] = ()
(a) = 1
() = []
a = *b, c

a += 1
a.b -= 2
a[0] *= 3
a /= 4; a //= 5; a %= 6; a **= 7
a @= 1; a <<= 2; a >>= 3; a &= 4; a ^= 5; a |= 6,

a: int
a: int = 3
a.b: "text" = 4
a[0]: list[int] = 1, 2
(a): int = 5
a: lambda x: x = 1

del a
del a, b.c, d[0], d[1:2]
del (a, b), [c]
del (a),

pass
assert a
assert a == b, "message"

def plain():
    pass

def everything(a, b: int, /, c, d=1, *args: int, e, f: str = "x", **kwargs) -> None:
    "a docstring"
    return

def keyword_only(*, a, b=2): return a, *b
def defaults(a=1, /, b=2): return a
def positional(a, /): return
def trailing(a, b,): return a
def star(*args, a): return -a
def kw(**kw,): return (yes)

def doc_only():
    """Nothing
    else."""

@a
@a.b(1)[0]
@(lambda f: f)
def decorated(self):
    global x, y
    x = 1
    def inner():
        nonlocal z
        z = 2
        raise
    z = 3
    raise ValueError("text")
    raise ValueError from None

class Empty: pass

class Base():
    """doc"""

@register
class Derived(nn.Module,):
    count = 0
    label: str
    def forward(self, x): return super().forward(x)

    class Inner(Derived):
        __private = 1
        def get(self): return self.__private + __private + self.__init__

if a: b
if a:
    b
elif c: d
elif (n := e):
    f
else:
    if g:
        h
    else:
        i
if a:
    pass
else:
    if b: pass

for i in range(3):
    continue
for i, (j, *k) in zip(a, b):
    break
else:
    c
for a.b in c: pass
for a[0], in c: pass
for x in 1, 2, *y: pass
for x in a if b else c: pass

while True:
    if a: break
    else: continue
else:
    d

with torch.no_grad():
    a
with a, b as c, d() as (e, f), g as h.i, j as k[0]:
    l
with (a as b, c as d,):
    pass
with (a): pass
with (a, b): pass
with (a, b) as c: pass
with (a).b as c: pass
with (a as b): pass
with (yes := a): pass
with (a, b)[0], (c): pass
with a as [b, c]: pass
with (
    a
    as b
): pass

match = 1
match[0] = case = type = 2
match(a)
match.b
print(match, type(a), _)
x = 1; y = 2;
if x: y; z
