@a
class C(B):
  "doc"
  def f(self, a, /, b=1, *c, d, **e) -> x: return super().f(*c, **e)
with (a as b, c): del a[1:2, ...]
