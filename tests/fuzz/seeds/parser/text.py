x = f"{a!r:>{b}}{c=}"
y = [
  1, # x
]
if a:
	b \
 c
