def b():
    for e in (lambda e: (a if c else b)):
        with (b if b else a) as (e, a):
            f(f([c for e in super() if d], k={__p: e for d[a] in e}, *c), k=e, *e)
            e = [(c if e else b) for a in a]
        for c[e] in [[a for (c, b) in d for c in c] for e in a]:
            a
            e: a
            a = ((lambda d, b: d) + f(d for (a, e) in e))
            e
        import e.x
    for d in f({a: e for a[e] in d}, k=[a for e in b for e in d], *a):
        def a():
            a = (lambda a, *b: [e for e in a])
            e += b
            ([f(a, k=b, *d) for b in a for (c, e) in __class__ if b] + ((a + d) + c))
        [c for b[b] in c]
        c += b
    a += f(a for b in c)
    def c(*a):
        class c(c):
            nonlocal c
            c[d] = {[d for (e, d) in b if b]: [d for a in c] for (b, b) in d if b}
            e: b = a
            (((c := c) + (lambda a, b: c)) + b)
c += c
