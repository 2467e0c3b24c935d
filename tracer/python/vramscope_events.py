"""tracer/python/vramscope_events.py - finds out what each allocation of a PyTorch program was: op, module path, shape,
dtype, autograd node, name of the parameter.

PyTorch's own profiler observes the program, for the CPU alone: it lists each op with its inputs and each allocation
inside of it. Modules and names enter the same list as ranges and marks. At the end the allocations are matched with
those of the memory history, by address: those of one address come in the same order in both. What was found is added
to the events of the snapshot by vramscope_matching.py.

Nothing here may allocate on the GPU or keep a tensor alive: docs/internals/recorded-events.md says which other means
would, with measurements.
"""
import ctypes
import gc
import itertools
import os
import threading
import weakref


def as_part_of(original, function):
    """A function that stands in for one of PyTorch's: call stacks show it as PyTorch's."""
    code = original.__code__
    changes = {"co_filename": code.co_filename, "co_firstlineno": code.co_firstlineno}
    if hasattr(code, "co_qualname"):  # since Python 3.11
        changes["co_qualname"] = code.co_qualname
    function.__code__ = function.__code__.replace(**changes)
    function.__doc__, function.__module__ = original.__doc__, original.__module__
    return function


class HostBlocks:
    """PyTorch's table of memory on the host, which it keeps while a profiler is on.

    It prints a warning when memory is freed that was allocated before that, and the user wants no profiler.
    So the table is kept from `import torch` on. PyTorch keeps it if it is to log each allocation, as information; so
    this is not done where information is printed, nor in a build with another log (glog)."""

    def __init__(self, torch):
        self.flag = None
        try:
            lib = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libc10.so"))
            level = ctypes.c_int.in_dll(lib, "FLAGS_caffe2_log_level")  # 0: information
            flag = ctypes.c_bool.in_dll(lib, "FLAGS_caffe2_report_cpu_memory_usage")
            if level.value > 0 and not flag.value:
                flag.value = True
                self.flag = flag
        except Exception:  # another build: a warning more is no harm
            pass

    def end(self):
        if self.flag is not None:
            self.flag.value = False


class Events:
    """Observes this process from the initialisation of CUDA on. say: where facts are reported. module: gives the other
    modules of this folder."""

    def __init__(self, torch, say, module):
        self.torch = torch
        self.reading = module("vramscope_reading")
        self.matching = module("vramscope_matching")
        self.phases = module("vramscope_phases")
        self.say = say
        self.P = torch._C._profiler
        sources = module("vramscope_sources")
        faults = module("vramscope_faults")
        own = sources.Own(os.path.dirname(__file__))
        places = module("vramscope_places").Places(torch, own, faults)
        self.names = module("vramscope_names").Names(torch, places.find)
        self.host_blocks = HostBlocks(torch)
        self.noted = {}  # by number of the mark: what was found there
        self.numbers = itertools.count()
        self.ooms = {}  # by device: how often memory has run out
        self.toggles = None  # what has replaced Module.__call__ (vramscope_toggles.py)
        self.local = threading.local()
        self.is_on = False
        self.open = []  # ranges that the observing thread has begun and not ended
        self.restore = []
        self.hooks = []
        self.is_compilation_watched = False
        self.is_compiled = False
        self.collecting = None  # the range of Python's collector, while it runs
        self.as_part_of = as_part_of
        self.nodes = module("vramscope_nodes").Nodes(self)
        self.transforms = module("vramscope_transforms").Transforms(self)
        self.tensors = lambda: faults.tensors_of(torch)
        self.faults = faults.Faults(self, sources, os.path.dirname(__file__))
        self.read = self.reading.Reading(self.P, module("vramscope_flops"))
        self.is_to_the_end = True
        self.ended = None  # why something was not observed to the end
        self.compiler_watch()

    # ---- the profiler ----

    def begin(self):
        if self.torch._C._autograd._profiler_enabled():
            return
        self.thread = threading.get_ident()
        self.list_begin()
        self.is_on = True
        self.modules_watch()
        self.backward_watch()
        self.attempt("hooks", self.nodes.hooks_watch)
        self.attempt("checkpoints", self.nodes.checkpoints_watch)
        self.nodes.autocast_watch()
        self.attempt("torch.func", self.transforms.watch)
        self.optimizers_watch()
        self.profilers_watch()
        self.exchange_watch()
        gc.callbacks.append(self.on_collector)

    def on_collector(self, phase, info):
        """Reference cycles are freed when Python's collector runs, and that depends on how many objects there are, the
        observer's own ones included."""
        try:
            if phase == "start" and self.is_on and threading.get_ident() == self.thread:
                self.collecting = self.range_begin(self.reading.COLLECTOR)
            elif phase == "stop" and self.collecting is not None:
                self.range_end(self.collecting)
                self.collecting = None
        except Exception as e:
            self.trouble("collector", e)

    def list_begin(self):
        P, autograd = self.P, self.torch._C._autograd
        config = P.ProfilerConfig(P.ProfilerState.KINETO, True, True, False, False, False, P._ExperimentalConfig())
        activities = {P.ProfilerActivity.CPU}
        level = os.environ.get("KINETO_LOG_LEVEL")
        os.environ["KINETO_LOG_LEVEL"] = "99"  # it would announce itself on stderr
        try:
            autograd._prepare_profiler(config, activities)
            autograd._enable_profiler(config, activities)
        finally:
            if level is None:
                del os.environ["KINETO_LOG_LEVEL"]
            else:
                os.environ["KINETO_LOG_LEVEL"] = level
        self.range_begin(self.reading.WHOLE)

    def list_end(self):
        """End the profiler and read its list, which holds weak references to all tensors that ops got."""
        while self.open:
            self.open.pop().__exit__(None, None, None)
        self.read.read(self.torch._C._autograd._disable_profiler().experimental_event_tree())

    def stop(self):
        """End observing. Nothing may be open: PyTorch would write where the list of its profiler was."""
        if not self.is_on or threading.get_ident() != self.thread:
            return
        self.attempt("graphs", self.nodes.all_note)
        self.unwatch()
        self.transforms.stop()
        self.is_on = False
        if self.on_collector in gc.callbacks:
            gc.callbacks.remove(self.on_collector)
        self.list_end()
        self.host_blocks.end()

    def annotate(self, snapshot):
        """Add to a snapshot what is known of its allocations, under `facts`, once the observer has been stopped."""
        if self.is_on or not self.read.by_address:
            return
        reading = self.read
        reading.end()
        reading.name(self.noted)
        self.attempt("phases", lambda: self.phases.find(reading, self.reading))
        matching = self.matching.Matching(self.reading, reading, self.noted, self.nodes.is_possible,
                                          self.is_to_the_end, self.ooms, self.transforms.gaps(reading, self.noted))
        matching.apply(snapshot)
        snapshot["saves_unknown"] = self.nodes.impossible
        snapshot["observed"] = (matching.matched, matching.total, reading.own, reading.collected,
                                self.ended or self.transforms.why)

    def patch(self, owner, name, value):
        old = getattr(owner, name)
        setattr(owner, name, value)
        self.restore.append((owner, name, old, value))

    def unwatch(self, owners=None):
        """Undo what was changed (in these alone), if nobody else changed it since."""
        kept = []
        for owner, name, old, value in reversed(self.restore):
            if owners is not None and not any(owner is one for one in owners):
                kept.insert(0, (owner, name, old, value))
            elif getattr(owner, name, None) is value:
                setattr(owner, name, old)
        self.restore = kept

    # ---- what is watched ----

    def modules_watch(self):
        Module = self.torch.nn.Module
        events, local = self, self.local

        def _wrapped_call_impl(self, *args, **kwargs):
            opened = events.module_begin(self) if events.is_on else None
            try:
                if self._compiled_call_impl is not None:
                    output = self._compiled_call_impl(*args, **kwargs)
                else:
                    output = self._call_impl(*args, **kwargs)
                if opened is not None and local.depth == 1:
                    events.call_ends(output)
                return output
            finally:
                if opened is not None:
                    local.depth -= 1
                    events.range_end(opened)

        watched = as_part_of(Module._wrapped_call_impl, _wrapped_call_impl)
        if self.toggles is not None:
            self.patch(self.toggles, "call_plain", watched)  # it has replaced Module.__call__, and calls this one
        elif Module.__call__ is Module._wrapped_call_impl:
            self.patch(Module, "__call__", watched)

    def module_begin(self, module):
        try:
            depth = getattr(self.local, "depth", 0)
            path = self.names.path_of(module)
            if depth == 0:
                self.local.outermost = weakref.ref(module)
            if isinstance(module, self.torch.nn.modules.loss._Loss):
                path = None
            else:
                path = self.path_now(module, path, depth)
            if depth == 0 and path is not None:
                self.note(lambda: self.names.of_root(module))
            if depth == 0:
                self.local.site = None
                self.attempt("mistakes", self.call_begins)
            opened = self.range_begin(self.reading.LOSS if path is None else self.reading.MODULE + path)
            self.local.depth = depth + 1
            return opened
        except Exception as e:
            self.trouble("modules", e)
            return None

    def path_now(self, module, path, depth):
        """Of a module that is called: inside of another one it may have been put there since that was listed."""
        outermost = self.local.outermost() if depth > 0 and path is None else None
        if outermost is not None and self.names.path_of(outermost) is not None:
            self.names.root_changed(outermost)
            path = self.names.path_of(module)
        if path is None:
            self.names.root_add(module)
            path = self.names.path_of(module)
        return path

    def is_observed(self):
        """Whether the profiler lists what this thread does: the one that began it, and those of its backward."""
        return self.is_on and self.torch._C._autograd._profiler_enabled()

    def is_own_thread(self):
        return self.is_on and threading.get_ident() == self.thread

    def call_begins(self):
        """The program calls a module that is in no other one."""
        if threading.get_ident() == self.thread:
            self.local.site = self.faults.call_begins()

    def call_ends(self, output):
        if self.is_on and self.local.site is not None:
            self.attempt("mistakes", lambda: self.faults.call_ends(self.local.site, output))

    def range_begin(self, name):
        opened = self.P._RecordFunctionFast(name)
        opened.__enter__()
        if threading.get_ident() == self.thread:
            self.open.append(opened)
        return opened

    def range_end(self, opened):
        if self.is_on:
            if self.open and self.open[-1] is opened:
                self.open.pop()
            opened.__exit__(None, None, None)

    def note(self, *finders):
        """Remember the names that are found, and when they applied."""
        if not self.is_on or threading.get_ident() != self.thread:
            return
        self.mark(self.alone(lambda: [item for find in finders for item in find()]))

    def alone(self, find):
        """What is found, where nothing of the program runs meanwhile."""
        is_collecting = gc.isenabled()
        gc.disable()
        try:
            with self.P._RecordFunctionFast(self.reading.OWN), self.torch._C.DisableTorchFunctionSubclass():
                return find()
        finally:
            if is_collecting:
                gc.enable()

    def mark(self, what):
        """Remember what was found, and when."""
        if what:
            number = next(self.numbers)  # no two threads get the same one
            self.noted[number] = what
            with self.P._RecordFunctionFast(self.reading.MARK + str(number)):
                pass

    def oom_note(self, device):
        """Memory runs out on a device, in the op that runs now."""
        self.ooms[device] = self.ooms.get(device, 0) + 1
        if self.is_observed():
            self.mark(("oom", device, self.ooms[device]))

    def backward_watch(self):
        """The graph is there before a backward. Gradients have names when it has ended."""
        autograd = self.torch.autograd
        run = autograd._engine_run_backward
        events = self

        def _engine_run_backward(*args, **kwargs):
            events.attempt("graph", lambda: events.nodes.graph_note(*args[:3]))
            events.attempt("mistakes", lambda: events.faults.backward_begins(args, kwargs))
            try:
                return run(*args, **kwargs)
            finally:
                events.attempt("gradients", lambda: events.note(events.names.of_gradients,
                                                                lambda: events.nodes.gradients(args[0])))

        self.patch(autograd, "_engine_run_backward", as_part_of(run, _engine_run_backward))

    def optimizers_watch(self):
        from torch.optim import optimizer

        def note(has_stepped):
            return lambda which, args, kwargs: self.attempt(
                "optimizers", lambda: self.note(lambda: self.names.of_optimizer(which, has_stepped)))

        self.hooks = [optimizer.register_optimizer_step_pre_hook(note(False)),
                      optimizer.register_optimizer_step_post_hook(note(True))]

    def profilers_watch(self):
        """Only one profiler can be on: this one makes way for the program's own."""
        from torch.autograd import profiler

        for name in "_prepare_profiler", "_enable_profiler":
            def give_way(*args, _call=getattr(profiler, name), **kwargs):
                self.attempt("profiler", self.give_way)
                return _call(*args, **kwargs)

            self.patch(profiler, name, give_way)

    def give_way(self):
        if self.is_on and threading.get_ident() == self.thread:
            self.stop()
            self.is_to_the_end = False
            self.ended = "the program used PyTorch's profiler"

    def exchange_watch(self):
        """PyTorch refuses to exchange tensors that have weak references, such as those in the profiler's list."""
        utils = self.torch.utils
        exchange = utils.swap_tensors

        def swap_tensors(t1, t2):
            self.attempt("swap_tensors", self.list_change)
            return exchange(t1, t2)

        self.patch(utils, "swap_tensors", as_part_of(exchange, swap_tensors))

    def list_change(self):
        if self.is_on and threading.get_ident() == self.thread:
            self.list_end()
            self.list_begin()

    def compiler_watch(self):
        """torch.compile inspects how modules are called: nothing of this file may be there. From the import of torch
        on: `torch.compile(Net().cuda())` takes the function before it initialises CUDA."""
        call = self.torch.compile
        Module = self.torch.nn.Module

        def compile(*args, **kwargs):
            now = Module.__call__
            Module.__call__ = Module._wrapped_call_impl  # it keeps this bound method, and compiles it
            try:
                compiled = call(*args, **kwargs)
            finally:
                Module.__call__ = now
            self.attempt("torch.compile", self.compilation_watch)
            return compiled

        compile.__doc__, compile.__wrapped__ = call.__doc__, call
        self.patch(self.torch, "compile", compile)

    def compilation_watch(self):
        """Many libraries call torch.compile and never what it returns, so the first compilation counts."""
        if not self.is_compilation_watched:
            self.is_compilation_watched = True
            from torch._dynamo import callback

            callback.on_compile_start(lambda *args: self.attempt("torch.compile", self.modules_unwatch))

    def has_compiled(self):
        """Whether torch.compile compiled something; None where nobody watched to the end."""
        return True if self.is_compiled else None if self.ended else False

    def modules_unwatch(self):
        if not self.is_on or not self.hooks:
            return
        self.is_compiled = True
        self.transforms.stop()
        owners = [self.torch.nn.Module, self.torch.autograd, self.torch]
        owners += self.nodes.watched + self.transforms.watched
        if self.toggles is not None:
            watched = self.toggles.call_plain
            self.unwatch(owners + [self.toggles])
            self.toggles.call_changed(watched)
        else:
            self.unwatch(owners)
        for hook in self.hooks:
            hook.remove()
        self.hooks = []
        self.ended = "torch.compile compiled code: since then there are ops, but no modules and no names"

    def attempt(self, what, function):
        try:
            function()
        except Exception as e:
            self.trouble(what, e)

    def trouble(self, what, e):
        self.say("trouble", "%s: %s: %s" % (what, type(e).__name__, e))
