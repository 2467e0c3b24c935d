def e():
    while f(b for e in d if b):
        b = __class__
    b = f((b + __class__) for c in super() if a)
with [c for b in a if super()] as (a, e):
    e: d = __class__
    d = ((a if c else a) + c)
    class c(a):
        a += (c := f(e, k=b, *c))
        def d(*a):
            global c
            (b, d) = b
            b = (lambda b, d: [d for a[d] in d])
        e = [f(c for a in c for c in a) for c in c]
    while [b for c in b if c for d in e]:
        e += [[b for b in a for b[a] in super() if d] for e in c if d for e[c] in c]
        e += ((e if b else d) + f(c, k=d, *e))
        class e(e):
            (lambda d: f(c for a in super()))
            e = f(b, k={c: a for b in d}, *a)
            c = (lambda e: (lambda c: a))
            a = f((lambda : d) for b in c)
        def c(d, c, *a, b):
            (lambda e: c)
            [[a for (a, a) in a] for d[b] in b if d]
            ((a := [d for e in c]) + e)
            (lambda e, b: (c := {__class__: d for a in a}))
for d in f((lambda a: a) for d[b] in d):
    def b(c):
        c: d
        a: e = a
        a = (lambda c, *a, b: f(d for b in d if b))
        def a(a):
            [[(lambda *a: b) for a in e] for c in a for (b, b) in a]
            del c
            d = e
    for a[b] in f((lambda a: a) for d in a):
        d = c
        @__class__
        def e():
            del c
