def b(a, *b):
    d[b] = ((b := b) if {a: c for b in d} else f(b, k=d, *e))
    a = ({a: d for c[c] in a} if (a := d) else (b + e))
    c = (a := (lambda d: d))
(b, a) = (lambda a: f(e, k=c, *c))
b: a
while e:
    class a(a):
        class d:
            (lambda c, d: d)
        for c[b] in f({c: b for c in c for e in c}, k=b, *a):
            ((f(b, k=a, *d) + f(e, k=__p, *c)) + f((lambda a, *b: a) for d in d for e[c] in b if a))
