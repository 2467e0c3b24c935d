while super():
    def c(*a):
        b: c
        b = e
        class _(a):
            [[c for a in __p if d] for e in e if f(c for (d, e) in c if b for e in a)]
        while d:
            import b.x
            b += ((lambda a, d: c) + e)
    b[b] = [(b + __p) for a in e if a]
    while (lambda a, *b: d):
        b = (d := f(__p for b in e if b))
        e[e] = (b := (e if b else a))
c = [b for a in d if super() for e in super()]
def b():
    from x import a, y as c
    def d(b, e):
        while (d + a):
            b
            b
            [d for d in d]
        e = {{c: c for a in b if d}: f(a for c in e) for d in d for e in d}
        e = __class__
    c = f(b, k={c: b for (b, a) in b}, *b)
    a = (__class__ if b else (b := a))
