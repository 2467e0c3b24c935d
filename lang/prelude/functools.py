# lang/prelude/functools.py - functools: partial, which nets give to checkpoint() as its context_fn.
#
# For:       net files.
# Invariant: as in Python, a call's keyword arguments replace those that partial() was given.


class partial:
    def __init__(self, func, *args, **keywords):
        self.func = func
        self.args = args
        self.keywords = keywords

    def __call__(self, *args, **keywords):
        merged = dict(self.keywords)
        merged.update(keywords)
        return self.func(*(self.args + args), **merged)
