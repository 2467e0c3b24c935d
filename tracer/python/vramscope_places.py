"""tracer/python/vramscope_places.py - what parameters are called that no module has, only an optimizer: as in the
program's own variables.

Nothing here may allocate on the GPU, keep a tensor alive, or call anything of the program's.
"""
import collections

OBJECTS_MAX = 20000
LEVELS_MAX = 3  # below a variable


class Places:
    """own: which files are the program's. faults: the module that examines objects without calling them."""

    def __init__(self, torch, own, faults):
        self.torch, self.own, self.faults = torch, own, faults

    def find(self, frame, wanted):
        """By id of the tensors whose ids are `wanted`: the name by which the program's frames reach it, from this
        frame outwards. The name nearest to a variable counts; but a variable that has one of the tensors of a
        container, where no variable has the others, is that of a loop."""
        todo = collections.deque()
        while frame is not None:
            if self.own.is_own(frame.f_code.co_filename):
                if frame.f_code.co_name != "<module>":
                    todo.extend((value, name, 0) for name, value in self.faults.variables_of(frame).items())
                todo.extend((value, name, 0) for name, value in list(frame.f_globals.items()))
            frame = frame.f_back
        found, seen = {}, set()
        while todo and len(seen) < OBJECTS_MAX and len(found) < len(wanted):
            value, name, level = todo.popleft()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if id(value) in wanted:
                found.setdefault(id(value), name)
            elif level < LEVELS_MAX:
                below = self.below(value)
                held = {id(one): name + rest for one, rest in below if id(one) in wanted}
                if not set(held) <= set(found):
                    found.update(held)
                todo.extend((one, name + rest, level + 1) for one, rest in below)
        return found

    def below(self, value):
        """What an object holds, and how it is written."""
        faults, kind = self.faults, type(value)
        if issubclass(kind, (list, tuple)):
            base = list if issubclass(kind, list) else tuple
            return [(one, "[%d]" % i) for i, one in enumerate(list(base.__iter__(value)))]
        if issubclass(kind, dict):
            return [(one, "[%r]" % key) for key, one in list(dict.items(value)) if type(key) in (str, int)]
        if issubclass(kind, self.torch.nn.Module):
            inner = faults.dict_of(value)
            held = [inner] + [inner.get(key) for key in ("_parameters", "_modules")]
            return [(one, "." + key) for dict_ in held if issubclass(type(dict_), dict)
                    for key, one in list(dict.items(dict_)) if type(key) is str]
        if self.own.is_own(faults.file_of(kind)):
            return [(one, "." + key) for key, one in list(faults.dict_of(value).items()) if type(key) is str]
        return []
