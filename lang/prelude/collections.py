# lang/prelude/collections.py - collections: OrderedDict, which nets give to nn.Sequential.
#
# For:       net files.
# Invariant: a dict keeps the order in which keys came, so an OrderedDict is a dict; methods that only an OrderedDict
#            has (move_to_end) are refused, because a dict lacks them.
OrderedDict = dict
