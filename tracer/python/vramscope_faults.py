"""tracer/python/vramscope_faults.py - finds likely mistakes of a program that keep memory of the GPU, while it runs.

When a line of the program calls a module for the 2nd, 4th, 6th, 10th, 18th ... time, what its variables, attributes
and containers reach is examined, from its own frames and modules downwards. What grows each time is a
mistake: a container that has more tensors each time, a tensor whose history is longer each time, objects that
nothing reaches and that are not freed. A view that keeps a much larger memory, calls of modules whose result no
backward runs through, and backward(create_graph=True) into `.grad` are others. Each is said once, when the program
ends, with its lines.

Nothing here may allocate on the GPU, keep a tensor alive, or call anything of the program's.
"""
import collections
import functools
import gc
import itertools
import os
import sys
import types

EXAMINED_AT = (2, 4, 6, 10, 18, 34, 66)
EXAMINED_MAX = 16
OBJECTS_MAX = 20000  # of an examination
ELEMENTS_MAX = 40  # of a container, at each end
NODES_MAX = 2000  # of a history
VIEW_RATIO = 4
VIEW_BYTES = 1 << 16
UNREACHED_MAX = 64
LEVELS_MAX = 6  # of objects below an element
ABOVE_MAX = 10  # of objects above a tensor
SAID_MAX = 16
CONTAINERS = (list, dict, set, collections.deque)
KINDS = (dict, list, tuple, set, collections.deque)  # whose own methods are asked, not those of the program's classes
ATTRIBUTES = ("is_cuda", "grad_fn", "grad")


def clean(text):
    """As a field of a line: names of attributes and files may have any character."""
    return "".join(c if c.isprintable() else "?" for c in text).replace("|", "/")


def of_class(cls, name):
    """What `type` says of a class, whatever its metaclass says."""
    return type.__dict__[name].__get__(cls)


def dict_of(value):
    """The dictionary with an object's attributes; {} where it has none, or hides it."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except Exception:
        return {}
    return found if type(found) is dict else {}


def elements_of(value):
    """What a container holds, whatever methods its class has."""
    base = next(kind for kind in KINDS if issubclass(type(value), kind))
    return list(base.values(value) if base is dict else base.__iter__(value))


def module_of(cls):
    name = of_class(cls, "__module__")
    return name if type(name) is str else ""


def file_of(cls):
    file = dict_of(sys.modules.get(module_of(cls))).get("__file__")
    return file if type(file) is str else ""


def variables_of(frame):
    """Before Python 3.13 a frame keeps the dictionary of its variables that it gives, and with it their values."""
    code = frame.f_code
    if not code.co_flags & 1 or sys.version_info >= (3, 13):
        return dict(frame.f_locals)
    if {"locals", "vars", "exec", "eval"} & set(code.co_names):
        return {}  # it would be the program's own dictionary
    kept = frame.f_locals
    found = dict(kept)
    kept.clear()
    return found


def length_of(value):
    return next(kind for kind in KINDS if issubclass(type(value), kind)).__len__(value)


def of_tensor(torch, tensor, name):
    """PyTorch's own attribute or method of a tensor, whatever its class makes of that."""
    found = getattr(torch.Tensor, name)
    return found.__get__(tensor) if name in ATTRIBUTES else found(tensor)


def storage_of(torch, tensor):
    """(address, bytes) of its memory on the GPU; None: it has none."""
    try:
        storage = of_tensor(torch, tensor, "untyped_storage") if of_tensor(torch, tensor, "is_cuda") else None
        return None if storage is None else (storage.data_ptr(), storage.nbytes())
    except Exception:  # a sparse tensor, one that only wraps others
        return None


def classes_below(cls):
    """A class and all that derive from it, whatever their metaclasses say."""
    found, todo = set(), [cls]
    while todo:
        found.add(todo[-1])
        todo.extend(type.__subclasses__(todo.pop()))
    return found


def tensors_of(torch):
    """All tensors that the collector of cycles knows: a program has a million objects, so they are read once."""
    objects = gc.get_objects()
    kinds = classes_below(torch.Tensor)
    return list(itertools.compress(objects, map(kinds.__contains__, map(type, objects))))


def is_growing(series):
    return len(series) >= 3 and series[-3] < series[-2] < series[-1]


def size_text(n):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return "%d %s" % (n, unit) if unit == "B" else "%.1f %s" % (n, unit)
        n /= 1024


class Reached:
    """What the program's own frames and modules reach. Nothing of it is kept."""

    def __init__(self, torch, own, frame):
        self.torch, self.own = torch, own
        self.seen = set()  # ids
        self.spaces = {}  # by id of the dictionary of a module: its name
        self.containers = []  # (container, name, scope, file)
        self.tensors = []  # (tensor, name, scope, file), of the GPU
        self.todo = []
        self.frames = set()
        modules = [(name, module) for name, module in list(sys.modules.items()) if type(module) is types.ModuleType]
        for name, module in modules:
            self.spaces[id(vars(module))] = name
        self.frames_add(frame)
        for name, module in modules:
            file = vars(module).get("__file__")
            if type(file) is str and own.is_own(file):
                for key, value in list(vars(module).items()):
                    self.push(value, key, "<module>", file)
        self.walk()

    def frames_add(self, frame):
        while frame is not None:
            self.frames.add(id(frame))
            code = frame.f_code
            if self.own.is_own(code.co_filename) and code.co_name != "<module>":
                for name, value in variables_of(frame).items():
                    self.push(value, name, code.co_name, code.co_filename)
            frame = frame.f_back

    def push(self, value, name, scope, file):
        if id(value) not in self.seen and len(self.seen) < OBJECTS_MAX:
            self.todo.append((value, name, scope, file))

    def walk(self):
        while self.todo:
            value, name, scope, file = self.todo.pop()
            if id(value) in self.seen or id(value) in self.spaces:
                continue
            self.seen.add(id(value))
            self.visit(value, name, scope, file)

    def visit(self, value, name, scope, file):
        kind = type(value)
        if issubclass(kind, self.torch.Tensor):
            if storage_of(self.torch, value):
                self.tensors.append((value, name, scope, file))
            if of_tensor(self.torch, value, "grad_fn") is None and of_tensor(self.torch, value, "grad") is not None:
                self.push(of_tensor(self.torch, value, "grad"), name, scope, file)
        elif kind in (int, float, str, bool, bytes, type(None)):
            pass
        elif issubclass(kind, CONTAINERS) or issubclass(kind, tuple):
            if not issubclass(kind, tuple):
                self.containers.append((value, name, scope, file))
            for one in self.elements(value):
                self.push(one, name, scope, file)
        elif issubclass(kind, functools._lru_cache_wrapper):
            for one in gc.get_referents(value):
                if type(one) is dict:
                    self.push(one, name, "cache", file)
        elif kind is types.FunctionType:
            if self.own.is_own(value.__code__.co_filename):
                where = value.__code__.co_name, value.__code__.co_filename
                for cell in value.__closure__ or ():
                    for one in gc.get_referents(cell):
                        self.push(one, name, *where)
                names = value.__code__.co_varnames[:value.__code__.co_argcount]
                defaults = value.__defaults__ or ()
                for key, one in zip(names[len(names) - len(defaults):], defaults):
                    self.push(one, key, *where)
        elif kind is types.MethodType:
            self.push(value.__self__, name, scope, file)
            self.push(value.__func__, name, scope, file)
        elif kind is types.GeneratorType:
            for one in gc.get_referents(value):
                self.push(one, name, scope, file)
        elif issubclass(kind, type):
            if self.own.is_own(file_of(value)):
                for key, one in list(of_class(value, "__dict__").items()):
                    self.push_attribute(one, key, value, file_of(value))
        elif self.is_followed(value, kind):
            self.attributes(value, kind, file)

    def is_followed(self, value, kind):
        return (issubclass(kind, (self.torch.nn.Module, BaseException)) or self.own.is_own(file_of(kind))
                or kind in (types.TracebackType, types.FrameType) or module_of(kind).startswith("torch.optim"))

    def push_attribute(self, value, key, owner, file):
        if type(key) is str:
            self.push(value, "." + key, of_class(owner, "__name__"), file)

    def attributes(self, value, kind, file):
        if kind is types.FrameType and id(value) in self.frames:
            return
        if issubclass(kind, (BaseException, types.TracebackType, types.FrameType)):
            for one in gc.get_referents(value):
                self.push(one, "", of_class(kind, "__name__"), file)
            return
        found = dict(dict_of(value))
        for cls in of_class(kind, "__mro__"):
            for key, member in of_class(cls, "__dict__").items():
                if type(member) is types.MemberDescriptorType:  # of __slots__
                    found.setdefault(key, self.slot(value, member))
        is_own = self.own.is_own(file_of(kind))
        for key, one in found.items():
            self.push_attribute(one, key, kind, file_of(kind) if is_own else file)
        for key in ("_parameters", "_buffers") if issubclass(kind, self.torch.nn.Module) else ():
            named = found.get(key)
            if issubclass(type(named), dict):
                for name, one in list(dict.items(named)):
                    self.push_attribute(one, name, kind, file)

    def slot(self, value, member):
        try:
            return member.__get__(value)
        except AttributeError:  # it was never set
            return None

    def elements(self, value):
        value = elements_of(value)
        return value if len(value) <= 2 * ELEMENTS_MAX else value[:ELEMENTS_MAX] + value[-ELEMENTS_MAX:]

    def tensors_below(self, value, limit=200):
        """The tensors of the GPU reached from here; what many objects share is not followed."""
        todo, seen, found = [(value, 0)], set(), []
        while todo and len(seen) < limit:
            one, level = todo.pop()
            if id(one) in seen or id(one) in self.spaces or id(one) in self.frames or level > LEVELS_MAX:
                continue
            seen.add(id(one))
            kind = type(one)
            if issubclass(kind, self.torch.Tensor):
                if storage_of(self.torch, one):
                    found.append(one)
            elif not issubclass(kind, (type, types.ModuleType, types.CodeType, str)):
                todo.extend((other, level + 1) for other in gc.get_referents(one))
        return found

    def bytes_below(self, value):
        return sum(dict(storage_of(self.torch, tensor) for tensor in self.tensors_below(value)).values())

    def grows_by(self, container):
        """Bytes of the GPU below its first and last element; 0: one of them has none."""
        ends = self.elements(container)
        if not ends:
            return 0
        first, last = self.bytes_below(ends[0]), self.bytes_below(ends[-1])
        return min(first, last) and max(first, last)


class Faults:
    def __init__(self, events, sources, folder):
        self.events, self.torch = events, events.torch
        self.own = sources.Own(folder)
        self.sources = sources.Sources(self.own)
        self.sites = {}  # by file and line of a call: how often
        self.leading = {}  # of the lines at which it is done: the calls of all lines when it was called last
        self.calls = 0
        self.examined = 0
        self.series = {}  # by (kind, what): a list of figures, one for each examination, and what to say
        self.views = {}
        self.results = {}  # by line of a call: [results that require grad, those that a backward ran through, bytes]
        self.pending = {}  # by number of a node of autograd: the line of its call
        self.grads = {}  # lines of backward(create_graph=True)
        self.allocated = 0
        self.unreached_count = {}  # by line of a call: at the last examination

    # ---- what is watched ----

    def call_begins(self):
        """The program calls a module that is in no other one."""
        frame = self.own.frame(sys._getframe(2))
        if frame is None:
            return None
        site = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        self.calls += 1
        self.sites[site] = count = self.sites.get(site, 0) + 1
        self.allocated = self.torch.cuda.memory_allocated() if count == 2 else 0
        if count in EXAMINED_AT and self.examined < EXAMINED_MAX and self.leads(site):
            self.examined += 1
            self.events.alone(lambda: self.examine(site, count, frame))
        if site in self.leading:
            self.leading[site] = self.calls
        return site

    def leads(self, site):
        """Of the lines of one loop the first counts."""
        if site not in self.leading and not any(self.calls - last < 50 for last in self.leading.values()):
            self.leading[site] = self.calls
        return site in self.leading

    def call_ends(self, site, output):
        if site is None or not self.torch.is_grad_enabled():
            return
        with self.torch._C.DisableTorchFunctionSubclass():
            self.result_note(site, output)

    def result_note(self, site, output):
        kind = type(output)
        is_container = issubclass(kind, (dict, list, tuple))
        found = elements_of(output) if is_container else [output]
        tensors = [t for t in found if issubclass(type(t), self.torch.Tensor) and of_tensor(self.torch, t, "is_cuda")]
        nodes = [node for node in (of_tensor(self.torch, t, "grad_fn") for t in tensors) if node is not None]
        if not nodes:
            return
        entry = self.results.setdefault(site, [0, 0, 0])
        entry[0] += 1
        if self.allocated:
            own = sum((storage_of(self.torch, t) or (0, 0))[1] for t in tensors)
            entry[2] = max(0, self.torch.cuda.memory_allocated() - self.allocated - own)
        for node in nodes:
            self.pending[node._sequence_nr()] = site

    def graph_runs(self, nodes):
        """A backward runs through these nodes."""
        if self.pending:
            for node in nodes:
                site = self.pending.pop(node._sequence_nr(), None)
                if site is not None:
                    self.results[site][1] += 1

    def backward_begins(self, args, kwargs):
        creates = args[3] if len(args) > 3 else kwargs.get("create_graph")
        if creates and kwargs.get("accumulate_grad", args[6] if len(args) > 6 else False):
            frame = self.own.frame(sys._getframe(2))
            if frame is not None:
                site = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
                self.grads[site] = self.grads.get(site, 0) + 1

    # ---- an examination ----

    def note(self, key, figure, **about):
        entry = self.series.setdefault(key, [[], {}])
        entry[0].append(figure)
        entry[1].update(about)

    def examine(self, site, count, frame):
        self.sources.files_note()
        found = Reached(self.torch, self.own, frame)
        for container, name, scope, file in found.containers:
            bytes = found.grows_by(container)
            if bytes:
                self.note(("grows", site, id(container)), length_of(container), name=name, scope=scope, file=file,
                          bytes=bytes, graph=self.graph_bytes(found, container), calls=count)
        self.examine_tensors(found, site, count)
        self.unreached(found, site, count)

    def graph_bytes(self, found, container):
        """What autograd saved for the tensors of an element, beside them; of its first and last element the less: the
        last one's backward may be still to come."""
        ends = found.elements(container)
        sizes = []
        for end in (ends[0], ends[-1]):
            tensors = found.tensors_below(end)
            own = {storage_of(self.torch, tensor)[0] for tensor in tensors}
            saved = dict(storage_of(self.torch, one) for one in self.events.nodes.saved_below(tensors))
            sizes.append(sum(bytes for at, bytes in saved.items() if at not in own))
        return min(sizes)

    def examine_tensors(self, found, site, count):
        used = {}  # by address: the largest part of it that a tensor uses
        for tensor, *_ in found.tensors:
            at, bytes = storage_of(self.torch, tensor)[0], self.bytes_used(tensor)
            used[at] = max(used.get(at, 0), bytes)
        histories = {}
        for tensor, name, scope, file in found.tensors:
            at, size = storage_of(self.torch, tensor)
            most = used[at]
            is_view = of_tensor(self.torch, tensor, "_is_view") or of_tensor(self.torch, tensor, "storage_offset")
            if is_view and most and size >= VIEW_BYTES and size >= VIEW_RATIO * most:
                self.views.setdefault((name, scope, file), {})[(site, count)] = size, most
            node = of_tensor(self.torch, tensor, "grad_fn")
            if node is not None:
                key = "history", site, name, scope, file
                histories[key] = max(histories.get(key, 0), self.history(node))
        for key, nodes in histories.items():
            self.note(key, nodes, name=key[2], scope=key[3], file=key[4], bytes=0, calls=count)

    def bytes_used(self, tensor):
        return of_tensor(self.torch, tensor, "numel") * of_tensor(self.torch, tensor, "element_size")

    def history(self, node):
        seen, todo = {}, [node]
        while todo and len(seen) < NODES_MAX:
            node = todo.pop()
            if id(node) not in seen:
                seen[id(node)] = node
                todo.extend(other for other, _ in node.next_functions if other is not None)
        return len(seen)

    # ---- what nothing reaches ----

    def unreached(self, found, site, count):
        """Tensors that only garbage holds: objects that refer to each other, and no variable or module to them."""
        tensors = [t for t in tensors_of(self.torch) if id(t) not in found.seen and storage_of(self.torch, t)]
        before, self.unreached_count[site] = self.unreached_count.get(site), len(tensors)
        if before is None or len(tensors) <= before:
            return
        tensors = tensors[-UNREACHED_MAX:]
        groups = {}
        above, rooted = self.above(tensors, found)
        for tensor in tensors:
            links, is_rooted = self.links(tensor, above, rooted)
            if links and not is_rooted:
                entry = groups.setdefault(frozenset(links), [0, 0])
                entry[0] += 1
                entry[1] += storage_of(self.torch, tensor)[1]
        del tensors, above
        for links, (number, bytes) in groups.items():
            self.note(("cycle", site, links), number, bytes=bytes // number, calls=count, links=links)

    def above(self, tensors, found):
        """By id: what refers to it, some levels up; and the ids of what a variable or module reaches."""
        above, rooted, level = {}, set(), list(tensors)
        own = {id(tensors), id(level), id(above)}
        for _ in range(ABOVE_MAX):
            wanted = {id(one) for one in level}
            own.add(id(level))
            nxt, ids = [], set()
            for one in gc.get_referrers(*level) if level else ():
                if id(one) in own or one is found.__dict__ or self.is_mine(one):
                    continue
                if self.is_root(one, found):
                    rooted.update(id(other) for other in gc.get_referents(one) if id(other) in wanted)
                    continue
                for other in gc.get_referents(one):
                    if id(other) in wanted:
                        above.setdefault(id(other), []).append(one)
                if id(one) not in ids and id(one) not in above:
                    ids.add(id(one))
                    nxt.append(one)
            own.add(id(nxt))
            level = nxt[:1000]
        return above, rooted

    def is_mine(self, one):
        return type(one) is types.FrameType and one.f_code.co_filename == __file__

    def is_root(self, one, found):
        kind = type(one)
        return (id(one) in found.seen or id(one) in found.spaces or id(one) in found.frames
                or issubclass(kind, (type, types.ModuleType)))

    def links(self, tensor, above, rooted):
        """The attributes, functions and variables by which garbage holds the tensor; whether it is none at all."""
        links, seen, todo = set(), set(), [tensor]
        while todo and len(seen) < 300:
            one = todo.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            if id(one) in rooted:
                return links, True
            for other in above.get(id(one), ()):
                links.update(self.link(one, other, above))
                todo.append(other)
        return links, False

    def link(self, held, holder, above):
        kind = type(holder)
        if kind is dict:
            for owner in above.get(id(holder), ()):
                if dict_of(owner) is holder:
                    yield from self.link_of(held, holder, owner)
        elif kind is types.FunctionType and self.own.is_own(holder.__code__.co_filename):
            yield "function", holder.__code__.co_filename, holder.__code__.co_firstlineno
        elif kind is types.FrameType and issubclass(type(held), BaseException):
            yield "error", holder.f_code.co_filename, holder.f_code.co_name
        elif not issubclass(kind, (type, types.FunctionType)):
            yield from self.link_of(held, dict_of(holder), holder)

    def link_of(self, held, attributes, owner):
        return [("attribute", of_class(type(owner), "__name__"), key) for key, value in attributes.items()
                if value is held and type(key) is str]

    # ---- at the end ----

    def say_all(self, say):
        """say: takes a line `KIND|bytes|FILE:LINE FILE:LINE ...|a sentence`, the files by their names."""
        said = self.grown() + self.kept_views() + self.untrained() + self.created()
        for kind, bytes, lines, text in sorted(set(said), key=lambda s: (-s[1], s))[:SAID_MAX]:
            where = " ".join("%s:%d" % (os.path.basename(file).replace(" ", "_"), line) for file, line in lines[:4])
            say("|".join((kind, str(bytes), clean(where), clean(text))))

    def name_text(self, name, scope):
        if name.startswith("."):
            return "`%s` of %s" % (name[1:], scope)
        return "`%s`" % name if scope == "<module>" else "`%s` of %s" % (name, scope)

    def lines(self, about, kinds):
        name, scope, file = about["name"], about["scope"], about["file"]
        if scope == "cache":
            return self.sources.lines("return", name, [file], ("return",))
        paths = self.sources.all()
        found = self.sources.lines(name, scope, [file], kinds)
        return found or self.sources.lines(name, scope, paths, kinds)

    def grown(self):
        out = []
        for (kind, *rest), (series, about) in self.series.items():
            if kind == "cycle":
                if len(series) >= 2 and series[-1] >= 3 and series[-1] - series[0] >= 2:
                    out += self.cycle(about, series)
            elif is_growing(series):
                out += self.longer(about, series) if kind == "history" else self.container(about, series)
        return out

    def container(self, about, series):
        lines = self.lines(about, ("put", "bind"))
        text = ("%s has more tensors of the GPU each time: %d after %d calls of the model, about %s each"
                % (self.name_text(about["name"], about["scope"]), series[-1], about["calls"],
                   size_text(about["bytes"])))
        if about["graph"]:
            text += (", and with them %s saved by their graphs; .item() or .detach() of what is put there, or "
                     "torch.no_grad() around what makes it, frees that" % size_text(about["graph"] * series[-1]))
        return [("leak", (about["bytes"] + about["graph"]) * series[-1], tuple(lines), text)] if lines else []

    def longer(self, about, series):
        lines = self.lines(about, ("put", "bind"))
        text = ("the autograd history of %s is longer each time: %d nodes after %d calls of the model; detach() or "
                "item() ends it" % (self.name_text(about["name"], about["scope"]), series[-1], about["calls"]))
        return [("history", 0, tuple(lines), text)] if lines else []

    def cycle(self, about, series):
        lines, words = [], []
        for what, owner, name in sorted(about["links"], key=str):
            if what == "function":
                lines.append((owner, name))
                words.append("the function of line %d" % name)
            elif what == "error":
                lines += self.sources.lines_of_errors(owner, name)
                words.append("an exception in %s" % name)
            elif not name.startswith("_"):
                lines += self.sources.lines("." + name, owner, self.sources.all(), ("put", "bind"))
                words.append("`%s` of %s" % (name, owner))
        text = ("%d tensors of about %s are held by objects that only refer to each other (%s): Python's collector of "
                "cycles frees them late or never" % (series[-1], size_text(about["bytes"]), ", ".join(words[:4])))
        return [("cycle", about["bytes"] * series[-1], tuple(dict.fromkeys(lines)), text)] if lines else []

    def kept_views(self):
        out = []
        for (name, scope, file), sizes in self.views.items():
            size, most = list(sizes.values())[-1]
            lines = self.lines(dict(name=name, scope=scope, file=file), ("put", "bind"))
            if len(sizes) >= 2 and lines:
                text = ("%s is a view of %s that keeps %s alive, which nothing else uses; clone() would free it"
                        % (self.name_text(name, scope), size_text(most), size_text(size)))
                out.append(("view", size, tuple(lines), text))
        return out

    def untrained(self):
        out = []
        for (file, line, _), (count, trained, bytes) in self.results.items():
            if count >= 2 and not trained and bytes:
                text = ("autograd records this call of a module, and no backward runs through its result: %s are kept "
                        "for nothing; torch.no_grad() avoids it" % size_text(bytes))
                out.append(("no_grad", bytes, ((file, line),), text))
        return out

    def created(self):
        return [("cycle", 0, ((file, line),), "backward(create_graph=True) makes gradients and the graph refer to each "
                 "other, so neither is freed; torch.autograd.grad() does not")
                for (file, line, _), count in self.grads.items()]
