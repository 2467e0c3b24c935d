# Every kind of expression, and how strongly each binds.
None; True; False; ...
1; 0; 00; 1_000; 0xFF; 0Xdead_beef; 0o17; 0b1010; 0b_1; 9223372036854775807
1.0; 1.; .5; 1e5; 1E-5; 1.5e+3; 1_0.0_1e1_0; 0.1; 1e400; 4.9e-324; 00.5; 012.0; 3.141592653589793
(); (1,); (1, 2); (1, 2,); 1, 2; ((1)); (((1, 2)), 3)
[]; [1]; [1, 2,]; [*a, 1, *b]
{}; {1: 2}; {1: 2, **a, "b": c,}; {1}; {1, *a,}; {**a}
{(a := 1): 2}; {a: b, c: (d := e)}
a.b.c; a[0]; a[0][1]; a(); a()(); a.b(c)[d].e
a[1:2]; a[:]; a[::]; a[1:]; a[:1]; a[::2]; a[1:2:3]; a[:, 1]; a[..., 0]; a[1:2, ::3, None]; a[1,]; a[(1, 2)]
a[b, *c]; a[*b]; a[b := 1]; a[-1]; a[b if c else d:e]
f(1); f(1,); f(a=1); f(1, a=2, **b); f(*a); f(*a, 1, *b, c=2, **d, e=3); f(a := 1); f(a, b=c, *d); f(*a or b)
f(**a, b=1, **c); f((a, b)); f(a if b else c); f(lambda: 1); f(print=1)

# unary and power
-a; +a; ~a; - - a; -a ** -b; (-a) ** b; a ** b ** c; (a ** b) ** c; -1 ** 2; 2 ** -1; ~a ** +b; -a.b; -a[0]; -a()
not a; not not a; not a == b; not a in b; not -a

# binary operators, from left to right
a + b - c + d; a - (b - c); a * b / c // d % e @ f; a << b >> c; a & b & c; a ^ b ^ c; a | b | c
a + b * c; (a + b) * c; a * b + c; a + b << c; a << b + c; a << b & c; a & b << c; a & b ^ c; a ^ b & c
a ^ b | c; a | b ^ c; a | b == c; a == b | c; a * -b; a * b ** c; a ** b * c; a @ b @ c; a + b % c
a | b ^ c & d << e + f * g ** h
a ** b * c + d << e & f ^ g | h

# comparisons
a < b; a < b <= c > d >= e == f != g; a in b; a not in b; a is b; a is not b; a is not not_b; a in b in c; a < (b < c)
a == b == c; not a is b; a is (not b); a + b < c * d

# boolean operators
a and b; a and b and c; a or b or c; a and b or c and d; a or b and c or d; (a and b) and c; a and (b and c)
not a and not b; a or not b; a < b and c; a and b < c

# conditional, lambda, walrus
a if b else c; a if b else c if d else e; (a if b else c) if d else e; a if (b if c else d) else e
a or b if c and d else e or f
lambda: 1; lambda a: a; lambda a, b=1, *c, d, e=2, **f: a; lambda a, /, *, b: a; lambda *a: a; lambda **a: a
lambda: lambda: a; lambda a: b if c else d; lambda a=lambda: 1: a; lambda a: (a, b)
(a := 1); (a := b or c); [a := 1, b]; (a := (b := 1)); f(a, b := 1); [(a := 1) for b in c]

# comprehensions
[a for a in b]; [a for a in b if c]; [a for a in b if c if d for e in f for g in h if i]
[a + b for a, b in c]; [a for (a, *b) in c]; [a for a, in b]; [a for a.b in c]; [a for a[0] in c]
[[a for a in b] for b in c]; [a if b else c for d in e]; [lambda: a for a in b]; [a for a in b or c]; [a for a in (b, c)]
{a: b for a, b in c}; {a: b for c in d for a, b in c if a if b}; {(a, b): c for a in b}; {a: a if b else c for a in b}
sum(a for a in b); sum((a for a in b), 0); any(a for a in b if a); f(*(a for a in b)); f(1, *(a for a in b), *c)
"".join(a for a in b); f((a for a in b)); f(a)(b for b in c); list(a for b in c for a in b); f(g(a for a in b), 1)
