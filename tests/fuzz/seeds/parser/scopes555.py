a = e
def d():
    del a
    while e:
        with f(a for a in super() if b for (c, a) in b if c) as b:
            b = e
        def d(a):
            e = c
            f((c if e else a) for b in a if [c for b[d] in c] for b in d)
            [{(d if b else b): [d for c in e if e] for e in d} for d in b]
            ([(a + c) for e in b for d in d] if [f(c for c in e for (d, b) in e) for (d, a) in a for e in c] else [(b if c else b) for e in b])
        c: e
        class c:
            c = {(lambda : e): c for c in e for e in e}
            d = (a := __p)
            (a, a) = c
    for c in [[c for a in e if b for (a, b) in __class__] for c in b if b for (b, e) in c if e]:
        @a
        def a():
            b
        e = [(c + c) for d in b if c]
        for b in (lambda b: (b := e)):
            (d, c) = f(d for (a, a) in a if d for b in d)
    class c:
        a += (e + (c + b))
        a = ([d for a in a for (a, b) in e] if (b := d) else e)
