@b
def a(b):
    for c in ([a for (e, c) in c] + (lambda c, b: d)):
        [[f(c for c in e for e in c if c) for d[d] in e] for a in d]
        with c as d[a]:
            e
        c = f((c + b) for d in c if e for a in e)
    def b(e):
        import d.x
        a[c] = f(f(c for c in a for b in a if a) for e in c)
    (a, b) = [(c := b) for (b, d) in e]
    @b
    def c(b, a):
        class d(a):
            (e := ([c for (a, e) in a] if [a for (b, e) in d] else [e for d in b]))
            e: c
            a = a
            b: e
        b = [{a: e for c in e if e for c[b] in __p} for c in e]
def d():
    [b for c[e] in c]
    d: a
    def b(b, *a):
        class _(a):
            e = f(b for (d, c) in b for c in e)
            del b
            b
        def e(c, b):
            f(b for c in f(a for (e, e) in c) if a)
            c += c
        for e[d] in (lambda a, *b, c: c):
            e = c
            f(f(f(d for e in e for c in e), k=f(d for c in e for b in c), *c), k=[[e for a in a] for d in d], *b)
        a = [(lambda c, a, *b, d: e) for a in b for c in c if b]
    (f((lambda d, e: c) for (d, d) in c for b in b) if f(d for b[e] in a) else (lambda e: [d for b in c if e]))
(lambda d, e, *a, b: (lambda b: [c for (b, c) in c]))
