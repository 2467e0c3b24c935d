# Layout: tabs, joined lines, comments, blank lines, no line end at the end of the file.


if a:
	b
	if c:
		d  # tabs

   # a comment at any depth
	e
if a:
  if b:
        c
  d
\

x = 1 + \
    2
y = (1 +
  # inside

     2)
z = [
1,
    2,  
]
if x: y; z

class C:

    def f(self,
          a):
        return {
            1: 2,
        }

    # end

naïve = größe + Δx + 变量
for i in a: pass # x
  	 
if a:
    pass;
last = 1 # no line end