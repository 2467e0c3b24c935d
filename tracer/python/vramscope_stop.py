"""tracer/python/vramscope_stop.py - stops a program at one event of PyTorch's allocator, and says who holds each block
of the GPU there.

PyTorch calls Python back for each block that it allocates and frees (what its CUDA sanitizer uses), in the middle of
an op, too. The event is known by its address and how often that address was allocated or freed before: over a
simulated GPU a program has the same addresses each time.

At the event all threads wait for Python's lock, so that all objects can be examined. What is found is written into a
file, a line each, and the process ends: what is done here may change the program. vramscope_prompt.py opens pdb
instead. docs/internals/holders.md says what is found, and how.
"""
import atexit
import gc
import os
import select
import signal
import sys
import time
import types

WAIT_SECONDS = 300  # of a rank that has ended, for the one that is examined
COPY_SECONDS = 10  # without a word of the process that looks at nodes, or at autocast's cache: it waits for a lock
SKIPPED_MAX = 50  # nodes that cannot be looked at
HOLDERS_MAX = 32  # of a block
LEVELS_MAX = 6  # of containers inside of each other
UNNAMED = (list, tuple, dict, set, frozenset, types.CellType)


def clean(text):
    return "".join(c if c.isprintable() else "?" for c in str(text))[:200]


def scope_of(code):
    return getattr(code, "co_qualname", code.co_name)


class Names:
    """What modules, parameters and states of optimizers are called; of the objects that there are."""

    def __init__(self, torch, objects, known):
        self.paths = {}  # by id of the module
        self.parameters = {}  # by id
        self.dicts = {}  # by id of a dictionary: the module whose parameters or buffers it has
        modules = [o for o in objects if issubclass(type(o), torch.nn.Module) and "_modules" in vars(o)]
        inner = {id(child) for module in modules for child in module._modules.values()}
        outermost = [module for module in modules if id(module) not in inner]
        called = known.paths_of_roots() if known is not None else {}
        for module in sorted(outermost, key=lambda module: id(module) not in called):
            self.walk(module, type(module).__name__ if len(outermost) > 1 else "", called)
        for module in modules:
            path = self.paths.get(id(module), "")
            for named in module._parameters, module._buffers:
                self.dicts[id(named)] = module
                for name, tensor in named.items():
                    if tensor is not None:
                        self.parameters.setdefault(id(tensor), path + "." + name if path else name)

    def walk(self, module, path, called):
        """Paths are those of now: modules may have been wrapped since the last call. called: by id of the outermost
        modules that the program called, their paths, which those of their parts begin with."""
        todo = [(module, path)]
        while todo:
            module, path = todo.pop()
            if module is None or id(module) in self.paths:
                continue
            path = self.paths[id(module)] = called.get(id(module), path)
            todo.extend((child, path + "." + name if path else name)
                        for name, child in reversed(list(module._modules.items())))

    def owner(self, value):
        """Path of a module; else its class."""
        path = self.paths.get(id(value))
        return path if path else type(value).__name__


class Frames:
    """The variables of all frames: of each thread, of generators, and of frames that something keeps."""

    def __init__(self, objects, names, own):
        self.by_id = {}  # by id of the value: (kind, name, scope, file, line)
        self.modules = set()  # ids of the variables of modules whose code is running
        self.names = names
        seen = set()
        for frame in sys._current_frames().values():
            while frame is not None:
                seen.add(id(frame))
                if not frame.f_code.co_filename.startswith(own):
                    self.add(frame)
                frame = frame.f_back
        for value in objects:
            if type(value) is types.GeneratorType or type(value) is types.CoroutineType:
                frame = value.gi_frame if type(value) is types.GeneratorType else value.cr_frame
            else:
                frame = value if type(value) is types.FrameType else None
            if frame is not None and id(frame) not in seen and not frame.f_code.co_filename.startswith(own):
                seen.add(id(frame))
                self.add(frame)

    def add(self, frame):
        code = frame.f_code
        scope, line = scope_of(code), frame.f_lineno or 0
        values = dict(frame.f_locals)
        if frame.f_locals is frame.f_globals:
            self.modules.add(id(frame.f_globals))
        is_call = (code.co_name in ("_wrapped_call_impl", "_call_impl")
                   and code.co_filename.endswith("module.py") and "self" in values)
        for name, value in values.items():
            holder = ("local", name, scope, code.co_filename, line)
            if is_call and name in ("args", "kwargs"):
                called = values["self"]
                holder = ("args", self.names.owner(called), type(called).__name__, code.co_filename, line)
            self.by_id.setdefault(id(value), []).append(holder)


def lines_of(function):
    """What a copy of this process says, which runs function(say): whole lines, until it has ended or waits forever."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)  # no word of faulthandler's
        except ValueError:  # not the main thread
            pass
        try:
            function(lambda line: os.write(writing, (line + "\n").encode()))
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.close(writing)
    found = b""
    while select.select([reading], [], [], COPY_SECONDS)[0]:
        part = os.read(reading, 65536)
        if not part:
            break
        found += part
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    return found.decode().split("\n")[:-1]


def has_ended(pid):
    """Of a process of the same user; one that its parent has not waited for has ended, too."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] in ("Z", "X")
    except OSError:
        return True


def referrers(objects, wanted):
    """Of each object whose id is wanted, the objects that refer to it."""
    found = {}
    get = gc.get_referents
    for value in objects:
        for other in get(value):
            if id(other) in wanted:
                found.setdefault(id(other), []).append(value)
    return found


class Search:
    """Finds who holds tensors."""

    def __init__(self, torch, known, own):
        self.torch = torch
        self.objects = gc.get_objects()
        self.names = Names(torch, self.objects, known)
        self.objects = gc.get_objects()  # vars() may have made dictionaries that hold what objects held before
        self.frames = Frames(self.objects, self.names, own)
        self.tensors = [o for o in self.objects if issubclass(type(o), torch.Tensor)]
        self.spaces = {}  # name of the module, by id of its variables; __mp_main__ is another name of __main__
        for name, module in list(sys.modules.items()):
            if type(module) is types.ModuleType:
                self.spaces.setdefault(id(vars(module)), name)
        self.back = {}  # by id: what refers to it
        self.storages = {}  # by address, of all tensors that were met
        self.held = {}  # by address: holders in the order in which they were found; a dictionary of None

    def address(self, tensor):
        tensor = getattr(tensor, "_local_tensor", tensor)
        try:
            if not issubclass(type(tensor), self.torch.Tensor) or not tensor.is_cuda:
                return 0
            storage = tensor.untyped_storage()
            address = storage.data_ptr()
            if address:
                self.storages[address] = storage
            return address
        except Exception:  # a sparse tensor, one without memory
            return 0

    def hold(self, address, kind, name, scope="", file="", line=0, node=0):
        if address:
            holders = self.held.setdefault(address, {})
            if len(holders) < HOLDERS_MAX:
                holders.setdefault((kind, name, scope, file, line, node))

    def run(self):
        at = {id(t): self.address(t) for t in self.tensors}
        at = {which: address for which, address in at.items() if address}
        self.back_fill(set(at))
        for tensor in self.tensors:
            address = at.get(id(tensor), 0)
            if address:
                for holder in self.holders_of(tensor, "", 0, set()):
                    self.hold(address, *holder)
        for tensor in self.tensors:
            self.gradient(tensor)
        self.autograd()
        return self.held

    # ---- Python's objects ----

    def is_unnamed(self, value):
        return type(value) in UNNAMED or isinstance(value, (list, tuple, dict)) and id(value) not in self.names.dicts

    def back_fill(self, wanted):
        for _ in range(LEVELS_MAX):
            found = referrers(self.objects, wanted)
            self.back.update(found)
            wanted = {id(value) for others in found.values() for value in others
                      if self.is_unnamed(value) and id(value) not in self.back and id(value) not in self.spaces
                      and id(value) not in self.names.dicts}
            if not wanted:
                break

    def holders_of(self, held, rest, level, inside):
        """Holders of an object; `rest`: how the tensor is got from it."""
        for kind, name, scope, file, line in self.frames.by_id.get(id(held), ()):
            yield ("item" if rest and kind == "local" else kind,
                   name + rest if kind == "local" else name, scope, file, line)
        if level == LEVELS_MAX or id(held) in inside:
            return
        for other in self.back.get(id(held), ()):
            yield from self.holders_in(other, held, rest, level, inside | {id(held)})

    def holders_in(self, other, held, rest, level, inside):
        kind = "item" if rest else "attr"
        if id(other) in self.names.dicts:
            for key, value in other.items():
                if value is held:
                    yield "attr", str(key), self.names.owner(self.names.dicts[id(other)])
        elif id(other) in self.frames.modules:
            return  # its frame has said so, with the line
        elif id(other) in self.spaces:
            space = self.spaces[id(other)]
            for key, value in other.items():
                if value is held and key != "_":
                    yield ("item" if rest else "local", key + rest,
                           "<module>" if space == "__main__" else "module " + space)
        elif isinstance(other, dict):
            for key, value in other.items():
                if value is held:
                    yield from self.holders_of_dict(other, key, rest, level, inside)
        elif isinstance(other, (list, tuple)):
            for i, value in enumerate(other):
                if value is held:
                    yield from self.holders_of(other, "[%d]" % i + rest, level + 1, inside)
                    break
        elif isinstance(other, (set, frozenset)):
            yield from self.holders_of(other, "{...}" + rest, level + 1, inside)
        elif type(other) is types.CellType:
            yield from self.closures(other, rest)
        elif type(other) not in (types.FrameType, types.GeneratorType, types.FunctionType):
            for name in self.attributes(other, held):
                yield kind, name + rest, self.names.owner(other)

    def holders_of_dict(self, held, key, rest, level, inside):
        """Of a value in a dictionary: where it is an object's own, the value is the object's attribute."""
        owners = [o for o in self.back.get(id(held), ()) if getattr(o, "__dict__", None) is held]
        for owner in owners:
            yield "item" if rest else "attr", str(key) + rest, self.names.owner(owner)
        if not owners:
            name = self.names.parameters.get(id(key)) or (repr(key) if isinstance(key, (str, int)) else "...")
            yield from self.holders_of(held, "[%s]" % name[:60] + rest, level + 1, inside)

    def attributes(self, owner, held):
        try:
            found = [name for name, value in vars(owner).items() if value is held]
        except TypeError:
            found = [name for cls in type(owner).__mro__ for name in getattr(cls, "__slots__", ())
                     if isinstance(name, str) and getattr(owner, name, None) is held]
        return found or ["..."]

    def closures(self, cell, rest):
        for closure in self.back.get(id(cell), ()):
            if type(closure) is not tuple:
                continue
            for function in self.back.get(id(closure), ()):
                if type(function) is types.FunctionType and function.__closure__ is closure:
                    for name, own in zip(function.__code__.co_freevars, closure):
                        if own is cell:
                            yield ("item" if rest else "local", name + rest, function.__qualname__,
                                   function.__code__.co_filename, function.__code__.co_firstlineno)

    # ---- autograd ----

    def gradient(self, tensor):
        try:
            if not (tensor.is_leaf or tensor.retains_grad) or tensor.grad is None:
                return
            address = self.address(tensor.grad)
        except Exception:
            return
        self.hold(address, "grad", self.names.parameters.get(id(tensor), ""))

    def autograd(self):
        """Nodes and autocast's cache are looked at by a copy of this process. A node that is just releasing what it
        saved has addresses of tensors that are gone already: that ends the copy, and the next one leaves it out. And
        the copy would wait forever where an op is just filling the cache."""
        skipped = set()
        while len(skipped) <= SKIPPED_MAX:
            lines = lines_of(lambda say: self.examine(skipped, say))
            numbers = [int(line[5:]) for line in lines if line.startswith("node ")]
            if "nodes" in lines or not numbers:
                break
            skipped.add(numbers[-1])
        for line in lines:
            if line.startswith("held "):
                address, kind, name, node = line[5:].split("\t")
                self.hold(int(address), kind, name, node=int(node))

    def examine(self, skipped, say):
        self.nodes(skipped, say)
        say("nodes")
        for address in self.cleared():
            say("held %d\tcache\t\t0" % address)

    def nodes(self, skipped, say):
        seen = set()
        todo = []
        for tensor in self.tensors:
            try:
                if tensor.grad_fn is not None:
                    todo.append(tensor.grad_fn)
            except Exception:  # a view of a tensor that was changed in place meanwhile
                pass
        kept = []  # a node's object of Python is found again while there is one
        while todo:
            node = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            kept.append(node)
            try:
                todo.extend(other for other, _ in node.next_functions if other is not None)
                say("node %d" % len(kept))
                if len(kept) not in skipped:
                    self.node(node, say)
            except Exception:
                pass

    def node(self, node, say):
        name = node.name()
        number = node._sequence_nr() if hasattr(node, "_sequence_nr") else 0
        is_checkpoint = name in ("CheckpointFunctionBackward", "_NoopSaveInputsBackward")
        for field in dir(node):
            if not field.startswith("_raw_saved_"):
                continue
            saved = getattr(node, field)
            for one in saved if isinstance(saved, (list, tuple)) else (saved,):
                address = self.address(self.data_of(one))
                if address:
                    how = "checkpoint\t" if is_checkpoint else "saved\t" + clean(name)
                    say("held %d\t%s\t%d" % (address, how, number + 1))

    def data_of(self, saved):
        """The tensor that was saved. Until PyTorch 2.10 only a hook gets it without unpacking it: what changes the node
        is no harm here."""
        if hasattr(saved, "data"):
            return saved.data
        found = []

        def pack(tensor):
            found.append(tensor)
            return tensor

        try:
            saved.register_hooks(pack, lambda tensor: tensor)
        except Exception:  # it has hooks, which keep what they made of it
            pass
        return found[0] if found else None

    # ---- autocast ----

    def cleared(self):
        """What autocast's cache holds has no object of Python: it is cleared, and what it releases was in it."""
        from torch.cuda import _gpu_trace as trace

        freed = []
        count = self.torch._C._storage_Use_Count
        before = {address: count(storage._cdata) for address, storage in self.storages.items()}
        trace.register_callback_for_memory_deallocation(freed.append)
        self.torch._C._activate_gpu_trace()
        self.torch.clear_autocast_cache()
        held = [address for address, storage in self.storages.items() if count(storage._cdata) < before[address]]
        return set(freed + held)


class Stop:
    """where: "KIND ADDRESS NUMBER RANK FILE": the NUMBER-th time that ADDRESS is allocated or freed (KIND alloc, free),
    or that memory runs out (oom); RANK: of the process, or - where there is one; FILE: for what is found, or - for a
    prompt."""

    def __init__(self, torch, where, history):
        self.torch = torch
        self.history = history
        self.kind, address, number, rank, out = where.split(" ", 4)
        self.address, self.left = int(address), int(number)
        self.rank = None if rank == "-" else rank
        self.out = None if out == "-" else out
        self.peer = os.path.join(history.folder, "examined")  # the number of the process of that rank
        self.prompt = None if self.out else history.module("vramscope_prompt").Prompt(history)

    def begin(self):
        from torch.cuda import _gpu_trace as trace

        if self.rank is not None and os.environ.get("RANK", self.rank) != self.rank:
            atexit.register(self.wait)
            return
        if self.rank is not None:
            with open(self.peer + ".part", "w") as f:
                f.write(str(os.getpid()))
            os.rename(self.peer + ".part", self.peer)
        if self.kind == "alloc":
            trace.register_callback_for_memory_allocation(self.on_event)
        elif self.kind == "free":
            trace.register_callback_for_memory_deallocation(self.on_event)
        if self.kind != "oom":
            self.torch._C._activate_gpu_trace()

    def wait(self):
        """Another rank ends before the one that is examined: it may crash where its peer does not answer any more, and
        then torchrun ends that one."""
        end = time.monotonic() + WAIT_SECONDS
        while self.out and not os.path.exists(self.out) and not self.peer_has_ended():
            if time.monotonic() > end:
                sys.stderr.write("vramscope: rank %s has waited %d s for rank %s, which is examined\n"
                                 % (os.environ.get("RANK", "?"), WAIT_SECONDS, self.rank))
                sys.stderr.flush()
                break
            time.sleep(0.05)

    def peer_has_ended(self):
        """The examined rank, once it uses CUDA."""
        try:
            with open(self.peer) as f:
                return has_ended(int(f.read()))
        except (OSError, ValueError):
            return self.history.recorder_is_gone()

    def on_event(self, address):
        if address == self.address:
            self.count()

    def on_oom(self):
        if self.kind == "oom":
            self.count()

    def count(self):
        if self.history.pid != os.getpid() or not self.is_of_rank():
            return
        self.left -= 1
        if self.left == 0 and self.out:
            self.find()
        elif self.left == 0:
            self.prompt.stop(self.history)

    def is_of_rank(self):
        if self.rank is None:
            return True
        dist = getattr(self.torch, "distributed", None)
        if dist and dist.is_available() and dist.is_initialized():
            return str(dist.get_rank()) == self.rank
        return os.environ.get("RANK", self.rank) == self.rank

    def find(self):
        gc.disable()
        try:
            with self.torch._C.DisableTorchFunctionSubclass():
                known = self.history.events.names if self.history.events else None
                held = Search(self.torch, known, self.history.folder + os.sep).run()
            allocated = sum(self.torch.cuda.memory_allocated(i) for i in range(self.torch.cuda.device_count()))
            lines = ["allocated\t%d" % allocated]
            lines += ["\t".join(("held", str(address), kind, clean(name), clean(scope), clean(os.path.basename(file)),
                                 str(line), str(node)))
                      for address, holders in held.items() for kind, name, scope, file, line, node in holders]
        except BaseException as e:
            lines = ["error\t%s: %s" % (type(e).__name__, clean(e))]
        try:
            with open(self.out + ".part", "w") as f:
                f.write("".join(line + "\n" for line in lines + ["end"]))
            os.rename(self.out + ".part", self.out)
        finally:
            self.history.is_kept = False
            os._exit(0)
