"""tracer/python/vramscope_torch.py - enables PyTorch's memory history in a program that `vramscope record` runs, and
saves it.

Recording begins when CUDA is initialised: a program that imports torch without using a GPU is not affected. Each
process writes two files into the recorder's folder: NAME.status, with one fact per line, and NAME.pickle, the snapshot,
written at the end of the process, at out-of-memory, and on a SIGTERM that would end the process. NAME consists of the
time at which CUDA was initialised and the process id. While it runs it writes a snapshot beside the trace that is
wanted, from time to time (vramscope_saves.py), for when the process is killed, or the recorder, or both.

Nothing here may change what the program does: no output, no exception, no other exit status. Errors are written to the
status file.
"""
import atexit
import contextlib
import os
import sys
import threading

PICKLE_PROTOCOL = 4
SCRIPTS_MAX = 100


def settings_read(folder):
    with open(os.path.join(folder, "settings"), errors="surrogateescape") as f:  # it has paths
        return dict(line.rstrip("\n").split(" ", 1) for line in f)


def module_of(folder, name):
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one_line(text):
    return " ".join(str(text).split())


class History:
    """PyTorch's memory history of this process.

    pid: the process in which it was enabled; None: not enabled yet. is_kept: it is written at the end.
    stand_in: what simulates the GPU, or None. toggles: what changes the program from outside (vramscope_toggles.py),
    or None.
    """

    def __init__(self, folder, torch, stand_in):
        self.folder = folder
        self.torch = torch
        self.stand_in = stand_in
        self.events = None
        self.own = None  # what the script itself says where toggles apply (vramscope_own.py), or None
        self.toggles = None
        self.toggles_failure = None
        self.stop = None  # stops the program at one event (vramscope_stop.py), or None
        self.had_group = False  # of torch.distributed, which the program has ended since
        self.pid = None
        self.is_kept = not settings_read(folder).get("stop")  # up to an event it runs for what is found there
        self.path = None
        self.beside = None  # where a snapshot is written while the program runs
        self.ooms = 0
        self.is_dumping = False
        self.saves = None  # what is written from time to time (vramscope_saves.py), or None
        self.lock = threading.RLock()  # held while a snapshot is taken and written
        self.is_over = False  # the last snapshot has been written
        self.said = set()
        main = getattr(sys.modules.get("__main__"), "__file__", None)  # Python removes it when the script has ended
        self.main = os.path.abspath(main) if main else None

    def say(self, fact, text=""):
        try:
            with open(self.path + ".status", "a") as f:
                f.write("%s %s\n" % (fact, one_line(text)))
        except Exception:
            pass

    def attempt(self, what, function, *args):
        try:
            return function(*args)
        except Exception as e:
            self.say("error", "%s: %s: %s" % (what, type(e).__name__, e))

    # ---- initialisation of CUDA ----

    def begin(self):
        try:
            if self.pid != os.getpid():
                self.begin_here()
        except Exception:
            pass

    def begin_here(self):
        import time

        self.pid = os.getpid()
        self.path = os.path.join(self.folder, "%d-%d" % (time.time_ns(), self.pid))
        out = settings_read(self.folder).get("out")
        self.beside = "%s.%d.pickle" % (out, self.pid) if out else None
        self.ooms = 0
        self.is_dumping = self.is_over = False
        self.lock = threading.RLock()
        self.say("pid", self.pid)
        self.say("program", " ".join(getattr(sys, "argv", None) or ["python"]))
        self.say("torch", getattr(self.torch, "__version__", "unknown"))
        if self.stand_in:
            self.say("played", self.stand_in.what)
        if os.environ.get("CUDA_VISIBLE_DEVICES"):
            self.say("visible", os.environ["CUDA_VISIBLE_DEVICES"].replace(" ", ""))
        if os.environ.get("RANK"):
            self.say("rank", os.environ["RANK"])
        if os.environ.get("WORLD_SIZE"):
            self.say("world", os.environ["WORLD_SIZE"])
        self.attempt("memory history", self.turn_on)
        self.attempt("out of memory", self.watch_oom)
        self.attempt("os._exit", self.watch_exit)
        self.attempt("SIGTERM", self.watch_term)
        self.attempt("events", self.watch_events)
        self.attempt("stop", self.watch_stop)
        if self.is_kept and self.beside:
            self.saves = self.module("vramscope_saves").Saves(self, self.torch)
            self.attempt("saves", self.saves.begin)

    def turn_on(self):
        settings = settings_read(self.folder)
        record = self.torch.cuda.memory._record_memory_history
        entries = int(settings["entries"])
        try:
            record("all", context="all", stacks=settings["stacks"], max_entries=entries)
        except TypeError:  # PyTorch 2.0 has other parameters, and they apply to one device
            for device in range(self.torch.cuda.device_count()):
                record(True, record_context=True, trace_alloc_max_entries=entries,
                       trace_alloc_record_context=True, device=device)
        self.say("history", "on")

    def say_rank(self):
        """The rank in the default group, while there is one: mp.spawn gives it to the function alone."""
        dist = getattr(self.torch, "distributed", None)
        if self.pid == os.getpid() and dist and dist.is_available() and dist.is_initialized():
            self.say("rank", dist.get_rank())
            self.say("world", dist.get_world_size())

    def watch_ranks(self):
        dist = getattr(self.torch, "distributed", None)
        if not dist or not dist.is_available():
            return
        destroy = dist.destroy_process_group

        def destroy_process_group(*args, **kwargs):
            self.attempt("rank", self.say_rank)
            self.had_group = True
            if self.stand_in:
                self.stand_in.has_own_frames = True
            return destroy(*args, **kwargs)

        destroy_process_group.__doc__ = destroy.__doc__
        dist.destroy_process_group = dist.distributed_c10d.destroy_process_group = destroy_process_group

    def watch_compiled(self):
        if hasattr(self.torch, "compile"):
            self.module("vramscope_compiled").watch(self.torch, self.attempt)

    def observer_new(self):
        profiler = getattr(self.torch._C, "_profiler", None)  # with all that is needed since PyTorch 2.1
        if hasattr(profiler, "_RecordFunctionFast") and settings_read(self.folder).get("observe", "on") == "on":
            self.events = module_of(self.folder, "vramscope_events").Events(self.torch, self.say, self.module)
            own = self.module("vramscope_own").Own(self.torch, self.events.as_part_of)
            own.watch()
            self.own = own

    def watch_events(self):
        if self.events:
            self.events.toggles = self.toggles
            self.events.begin()

    def watch_stop(self):
        where = settings_read(self.folder).get("stop")
        if where:
            self.stop = module_of(self.folder, "vramscope_stop").Stop(self.torch, where, self)
            self.stop.begin()

    def module(self, name):
        return module_of(self.folder, name)

    def watch_oom(self):
        self.torch._C._cuda_attach_out_of_memory_observer(self.on_oom)

    def watch_exit(self):
        """A process that ends with os._exit(), such as one forked by multiprocessing, does not run atexit handlers."""
        leave = os._exit

        def _exit(status):
            # Called on another thread, it may be how a program with a hanging allocator ends, so no snapshot is taken.
            if threading.current_thread() is threading.main_thread():
                self.dump("exit")
            leave(status)

        _exit.__doc__ = leave.__doc__
        os._exit = _exit

    def watch_term(self):
        import signal

        if (not self.is_kept or threading.current_thread() is not threading.main_thread()
                or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL):
            return
        signal.signal(signal.SIGTERM, self.on_term)
        masks = threading.local()

        # In a forked process SIGTERM has its default action. A signal that arrives before the child has reset its
        # handler would be lost, so SIGTERM is blocked during the fork.
        def before():
            masks.old = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

        def after():
            signal.pthread_sigmask(signal.SIG_SETMASK, masks.old)

        def after_in_child():
            if signal.getsignal(signal.SIGTERM) == self.on_term:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            after()

        os.register_at_fork(before=before, after_in_parent=after, after_in_child=after_in_child)

    # ---- snapshots ----

    def on_oom(self, device, *_):
        """Write a snapshot in case the program does not end normally: at out-of-memory number 1, 2, 4, 8 and so on."""
        if self.stop:
            self.stop.on_oom()
        if self.events:
            self.attempt("out of memory", self.events.oom_note, device)
        self.ooms += 1
        if self.ooms & (self.ooms - 1) == 0:
            if self.events:
                self.attempt("graphs", self.events.nodes.all_note)
            self.dump("oom")

    def on_term(self, number, frame):
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.dump("term")
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)

    def recorder_is_gone(self):
        """The recorder holds a lock while it runs. If it was killed, this process removes the folder."""
        import fcntl

        try:
            with open(os.path.join(self.folder, "lock")) as f:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def dump(self, why):
        if self.pid != os.getpid():
            return
        with self.lock:
            if self.is_dumping:  # a signal has come in the middle of it
                return
            self.is_dumping = True
            self.is_over = why != "oom"
            try:
                if self.recorder_is_gone():
                    self.leave(why)
                elif self.is_kept:
                    self.write(why, self.path + ".pickle")
                    if why != "oom" and self.beside and os.path.exists(self.beside):
                        os.unlink(self.beside)
                if self.events and why != "oom":  # one that is left on crashes when PyTorch is unloaded
                    self.attempt("events", self.events.stop)
            except BaseException as e:  # including KeyboardInterrupt: the user wants the program to end
                self.say("error", "%s: %s: %s" % (why, type(e).__name__, e))
            self.is_dumping = False

    def leave(self, why):
        """The recorder was killed: the snapshot is left beside its trace, and nothing else."""
        import shutil

        try:
            if self.is_kept and self.beside:
                self.write(why, self.beside)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.is_kept = False

    def save(self):
        """Write what was recorded so far, in case the process is killed. Returns whether more can follow."""
        with self.lock:
            if self.pid != os.getpid() or self.is_over:
                return False
            with self.new_pickle(self.beside) as f:
                f.write(self.saves.snapshot())
            self.facts_say("interval")
            return True

    def world_refusal(self):
        """--world of a program that runs alone all the same."""
        world = settings_read(self.folder).get("world")
        dist = getattr(self.torch, "distributed", None)
        if not world or self.had_group or not dist or not dist.is_available() or dist.is_initialized():
            return []
        how = "Trainer(devices=%s) of Lightning makes one" % world if "lightning" in sys.modules else \
            "torch.distributed.init_process_group makes one"
        return ["world %s: the script makes no group of processes, so it runs as it does alone; %s" % (world, how)]

    def say_lines(self, fact, lines):
        for line in lines:
            if (fact, line) not in self.said:
                self.said.add((fact, line))
                self.say(fact, line)

    def scripts(self):
        """The files of the program's own modules: not of the standard library, nor of installed packages."""
        import sysconfig

        apart = [os.path.realpath(sysconfig.get_paths()[name]) + os.sep for name in ("stdlib", "purelib", "platlib")]
        apart.append(os.path.realpath(self.folder) + os.sep)
        found = []
        for path in [self.main] + [getattr(module, "__file__", None) for module in list(sys.modules.values())]:
            if not isinstance(path, str) or not os.path.isabs(path) or not path.endswith(".py"):
                continue
            path = os.path.realpath(path)
            if not path.startswith(tuple(apart)) and os.sep + "site-packages" + os.sep not in path:
                found.append(path)
        return sorted(set(found))[:SCRIPTS_MAX]

    @contextlib.contextmanager
    def new_pickle(self, path):
        """A file that takes the place of the one from before once it is whole."""
        part = path + ".part"
        try:
            with open(part, "wb") as f:
                yield f
            os.rename(part, path)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise

    def write(self, why, path):
        import gc
        import pickle

        is_collecting = gc.isenabled()
        gc.disable()  # millions of small objects, none of them garbage
        self.attempt("rank", self.say_rank)
        try:
            if self.events and why != "oom":  # inside an op the observer cannot be ended
                self.attempt("events", self.events.stop)
            snapshot = self.torch.cuda.memory._snapshot()
            if self.events:
                self.attempt("events", self.events.annotate, snapshot)
            if snapshot["segments"] and not any(snapshot["device_traces"]):
                self.say("error", "the program turned PyTorch's memory history off: the trace "
                                  "has what was there at the end, not how it came about")
            with self.new_pickle(path) as f:
                pickle.dump(snapshot, f, PICKLE_PROTOCOL)
            if self.events and why != "oom":
                self.attempt("mistakes", self.events.faults.say_all, lambda line: self.say_lines("mistake", [line]))
            self.facts_say(why)
        finally:
            if is_collecting:
                gc.enable()

    def facts_say(self, why):
        if self.stand_in:
            self.say("reads", "%d %d" % self.stand_in.reads())
            for first in list(self.stand_in.first_reads.values())[:1]:
                self.say("read", first)
            self.say("read_kinds", self.stand_in.read_kinds())
            self.say("collectives", self.stand_in.collectives())
        self.say_lines("script", self.scripts())
        if self.own:
            if self.toggles and self.toggles.batch_size:  # before it was changed
                self.own.found["batch"] = [str(self.toggles.batch_size)]
            self.say_lines("own", self.own.lines(self.events.has_compiled()))
        if self.toggles:
            self.say_lines("refused", self.toggles.refusals())
        self.say_lines("refused", self.world_refusal())
        if self.toggles_failure:
            self.say_lines("refused", [self.toggles_failure])
        self.say("dump", why)


def toggles_of(folder, torch):
    settings = settings_read(folder)
    if not any(name.startswith("toggle.") for name in settings):
        return None
    return module_of(folder, "vramscope_toggles").attach(folder, torch, settings, module_of)


def end_with_parent():
    """A program that runs up to an event leaves no process behind: torchrun's are in groups of their own, which a
    signal to the program's group does not reach."""
    import ctypes
    import signal

    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def attach(folder, torch, stand_in):
    if stand_in:
        stand_in.loaded(torch)
        if os.path.join("torch", "_inductor", "compile_worker") in (getattr(sys, "argv", None) or [""])[0]:
            return  # torch.compile's compiler asks the device for its properties, and allocates nothing
    history = History(folder, torch, stand_in)
    if not history.is_kept:
        end_with_parent()
    history.attempt("ranks", history.watch_ranks)
    history.attempt("compiled", history.watch_compiled)
    history.attempt("events", history.observer_new)
    try:
        history.toggles = toggles_of(folder, torch)
    except Exception as e:  # a PyTorch that has none of what toggles are applied by
        history.toggles_failure = "toggles: %s: %s" % (type(e).__name__, e)
    atexit.register(history.dump, "exit")
    torch.cuda._lazy_call(history.begin)
