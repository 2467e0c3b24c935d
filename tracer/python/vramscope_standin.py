"""tracer/python/vramscope_standin.py - simulates a GPU in a program that `vramscope record` runs where there is none,
before torch is loaded.

The simulation is the library vramscope_standin.so (standin/runtime/enter.h); this file calls it through ctypes:
before torch's libraries are loaded, and before each library that is loaded later, which may need more of CUDA.

Nothing here may raise: if no GPU can be simulated, the program runs as usual. What the user must know is printed
once for all processes of the program.
"""
import ctypes
import functools
import os
import sys

PLAYED, HAS_DRIVER, NO_CUDA, FAILED = range(4)  # of sti_enter
TEXT_BYTES = 4096


class Request(ctypes.Structure):
    _fields_ = [("torch", ctypes.c_char_p), ("gpu", ctypes.c_char_p), ("cache", ctypes.c_char_p),
                ("log", ctypes.c_char_p), ("count", ctypes.c_int), ("cuda", ctypes.c_int)]


def settings_read(folder):
    with open(os.path.join(folder, "settings")) as f:
        return dict(line.rstrip("\n").split(" ", 1) for line in f)


def say_once(folder, what, text):
    """Print a line, if no process of the program has printed one of this kind."""
    try:
        os.close(os.open(os.path.join(folder, "said-" + what), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        return
    sys.stderr.write("vramscope: %s\n" % text)
    sys.stderr.flush()


def cuda_version(torch_folder):
    """The version of CUDA that this PyTorch was built with, as CUDA writes it: 13020; 0: not known."""
    import re

    with open(os.path.join(torch_folder, "version.py")) as f:
        found = re.search(r"^cuda\b.*?=\s*'(\d+)\.(\d+)", f.read(), re.M)
    return int(found.group(1)) * 1000 + int(found.group(2)) * 10 if found else 0


def gpu_count(settings):
    """As many as --gpus says, or else one for each process that a launcher starts on this machine: torchrun,
    DeepSpeed's, Open MPI's."""
    if settings.get("gpus", "0") != "0":
        return int(settings["gpus"])
    for name in "LOCAL_WORLD_SIZE", "LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE":
        if os.environ.get(name, "").isdigit():
            return max(1, int(os.environ[name]))
    return 1


class StandIn:
    """A simulated GPU in this process. what: its name and figures."""

    def __init__(self, folder, settings, library, what):
        self.folder = folder
        self.settings = settings
        self.library = library
        self.what = what
        self.values = None
        self.has_own_frames = False
        self.first_reads = {}  # by kind, in the order in which they came
        self.callback = None

    def admit(self, path):
        """Provide what the library at `path` needs of CUDA. Returns the name it is to be loaded by."""
        path = os.fspath(path) if not isinstance(path, (str, bytes)) else path
        name = os.fsencode(path)
        if b".so" not in name:
            return path
        if b"/" in name and self.library.sti_simulates(os.path.basename(name)):
            return os.path.basename(path)  # by its path it would be NVIDIA's own
        if b"/" in name:
            text = ctypes.create_string_buffer(TEXT_BYTES)
            self.library.sti_admit(name, text, TEXT_BYTES)
        return path

    def watch_libraries(self):
        from importlib.machinery import ExtensionFileLoader

        load = ctypes._dlopen
        create = ExtensionFileLoader.create_module

        def _dlopen(name, *args):
            return load(self.admit(name) if name else name, *args)

        def create_module(loader, spec):
            self.admit(spec.origin)
            return create(loader, spec)

        ctypes._dlopen = _dlopen
        ExtensionFileLoader.create_module = create_module

    def versions_set(self, torch):
        """cuDNN has the version that torch was built with, which it compares."""
        try:
            major, minor, patch = torch._C._cudnn.getCompileVersion()
            self.library.sti_set_versions(
                major * (10000 if major >= 9 else 1000) + minor * 100 + patch, 0)
        except Exception:
            pass

    def loaded(self, torch):
        """After `import torch`."""
        self.versions_set(torch)
        if self.settings.get("values") == "uniform":
            try:
                self.values = module_of(self.folder, "vramscope_values").Values(torch, self.library)
            except Exception as e:
                self.note("zeros", "%s: %s" % (type(e).__name__, e))
        try:
            self.module("vramscope_ranks").attach(self, torch, self.settings)
        except Exception as e:
            self.note("refused", "other ranks: %s: %s" % (type(e).__name__, e))

    def module(self, name):
        return module_of(self.folder, name)

    def note(self, fact, text):
        note(self.folder, fact, text)

    def watch_processes(self):
        """Inductor compiles in processes that get sys.path as their PYTHONPATH, without the folder that leads here. And
        say so where the program starts nvidia-smi: it answers for a driver, which is not here."""
        import subprocess

        init = subprocess.Popen.__init__
        folder = self.folder

        @functools.wraps(init)
        def __init__(process, *args, **named):
            if starts_smi(args[0] if args else named.get("args")):
                note(folder, "absent", "nvidia-smi")
            env = named.get("env")
            path = env.get("PYTHONPATH") if isinstance(env, dict) else None
            if isinstance(path, str) and folder not in path.split(os.pathsep):
                named["env"] = dict(env, PYTHONPATH=folder + os.pathsep + path)
            init(process, *args, **named)

        subprocess.Popen.__init__ = __init__

    def point_compilers(self):
        """Say to Triton and Inductor, here and in processes that are started here, where the driver is that they link
        with, and keep what they compile and choose apart from what they chose by measuring on a real GPU."""
        folder = ctypes.create_string_buffer(TEXT_BYTES)
        self.library.sti_stub_folder(folder, TEXT_BYTES)
        stubs = os.fsdecode(folder.value)
        if not stubs:
            return  # in memory: there is no place for compiled files either
        os.environ["TRITON_LIBCUDA_PATH"] = stubs
        kept = os.path.join(os.path.dirname(os.path.dirname(stubs)), "compiled")
        for name, part in ("TORCHINDUCTOR_CACHE_DIR", "inductor"), ("TRITON_CACHE_DIR", "triton"):
            given = os.environ.get(name)
            if given is None:
                os.environ[name] = os.path.join(kept, part)
            elif os.path.basename(given) != "vramscope" and not given.startswith(kept):
                os.environ[name] = os.path.join(given, "vramscope")

    # ---- values ----

    def watch_reads(self):
        """Remember where the program reads values of the device first, by kind. Called with Python's lock, on any
        thread."""
        def on_read(_, kind):
            try:
                self.first_reads[kind] = self.place(sys._getframe(1)) or "?"
            except Exception:
                pass

        self.callback = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_char_p)(on_read)
        self.library.sti_watch_reads(self.callback)

    def place(self, frame):
        """The innermost line that is the program's own: not torch's and not a library's, unless the library is run as
        the program (`python -m torchtitan.train`)."""
        inner, inner_of = None, {}
        while frame is not None:
            code = frame.f_code
            name = code.co_filename
            if name.startswith(self.folder):  # this file, or one beside it
                frame = frame.f_back
                continue
            if inner is None and os.sep + "torch" + os.sep not in name:
                inner = frame
            if not any(part in name for part in ("site-packages", "dist-packages", "<frozen", "/lib/python")):
                inner = frame
                break
            package = (frame.f_globals.get("__package__") or "").partition(".")[0]
            inner_of.setdefault(package, frame)
            if package and code.co_name == "<module>" and getattr(frame.f_back, "f_code", code).co_name == "_run_code":
                inner = inner_of[package]
                break
            frame = frame.f_back
        if inner is None:
            return None
        return "%s:%d %s" % (inner.f_code.co_filename, inner.f_lineno, inner.f_code.co_name)

    def reads(self):
        """How often the host read values of the device so far, and how many bytes."""
        count, size = ctypes.c_uint64(), ctypes.c_uint64()
        self.library.sti_count_reads(ctypes.byref(count), ctypes.byref(size))
        return count.value, size.value

    def read_kinds(self):
        """COUNT KIND PLACE of each kind of reads, with bars between; place: of the first one."""
        kinds = []
        name = ctypes.create_string_buffer(TEXT_BYTES)
        while True:
            count = self.library.sti_count_kind(len(kinds), name, TEXT_BYTES)
            if not count:
                return " | ".join(kinds)
            kinds.append("%d %s %s" % (count, os.fsdecode(name.value), self.first_reads.get(name.value, "?")))

    def collectives(self):
        """COUNT BYTES NAME of each collective of NCCL's, with bars between."""
        text = ctypes.create_string_buffer(TEXT_BYTES)
        self.library.sti_collectives(text, TEXT_BYTES)
        return os.fsdecode(text.value)


def starts_smi(command):
    """Does this command of subprocess start nvidia-smi? Of a shell's commands the first word of each is looked at."""
    if isinstance(command, (list, tuple)):
        command = command[0] if command and isinstance(command[0], str) else ""
        return os.path.basename(command) == "nvidia-smi"
    return isinstance(command, str) and any(
        os.path.basename(words[0]) == "nvidia-smi"
        for words in (part.split() for part in command.replace("&", "|").replace(";", "|").split("|")) if words)


def module_of(folder, name):
    import importlib.util

    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def library_open(path):
    library = ctypes.CDLL(path)
    library.sti_enter.argtypes = [ctypes.POINTER(Request), ctypes.c_char_p, ctypes.c_size_t]
    library.sti_admit.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    library.sti_simulates.argtypes = [ctypes.c_char_p]
    library.sti_set.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    library.sti_stub_folder.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.sti_stub_folder.restype = None
    library.sti_set_versions.argtypes = [ctypes.c_int, ctypes.c_int]
    library.sti_watch_reads.argtypes = [ctypes.c_void_p]
    library.sti_expect.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.sti_expect.restype = None
    library.sti_count_kind.argtypes = [ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    library.sti_count_kind.restype = ctypes.c_uint64
    library.sti_watch_reads.restype = None
    library.sti_exchange_open.argtypes = [ctypes.c_char_p]
    library.sti_value_at.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    library.sti_value_set.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    library.sti_send_for_others.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.sti_collectives.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.sti_collectives.restype = None
    library.sti_count_reads.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    library.sti_count_reads.restype = None
    return library


def note(folder, fact, text):
    with open(os.path.join(folder, "standin"), "a") as f:
        f.write("%d %s %s\n" % (os.getpid(), fact, " ".join(text.split())))


def simulate(folder, torch_file):
    """Called before the torch of `torch_file` (its __init__.py) is executed. Returns the StandIn, or None."""
    settings = settings_read(folder)
    gpu = settings.get("gpu", "none")
    if gpu == "none" or "standin" not in settings:
        return None
    torch_folder = os.path.dirname(torch_file)
    try:
        library = library_open(settings["standin"])
    except OSError as e:  # another C library, another architecture
        if gpu != "auto":
            say_once(folder, "refused", "no GPU is simulated: %s; as for PyTorch's CUDA builds, this Python must be of "
                     "x86-64 and glibc" % e)
        return None
    text = ctypes.create_string_buffer(TEXT_BYTES)
    request = Request(os.fsencode(os.path.join(torch_folder, "lib")), b"" if gpu == "auto" else gpu.encode(), b"",
                      os.fsencode(os.path.join(folder, "standin")), gpu_count(settings),
                      cuda_version(torch_folder))
    if settings.get("async", "early") != "early":
        library.sti_set(b"async", settings["async"].encode())
    how = library.sti_enter(ctypes.byref(request), text, TEXT_BYTES)
    said = os.fsdecode(text.value)
    if how == PLAYED:
        for name, default in ("async", "early"), ("values", "zeros"):
            if settings.get(name, default) != default:
                said += ", --%s %s" % (name, settings[name])
        stand_in = StandIn(folder, settings, library, said)
        stand_in.watch_libraries()
        stand_in.watch_processes()
        stand_in.point_compilers()
        stand_in.watch_reads()
        note(folder, "played", said)
        say_once(folder, "played", "%s: a simulated GPU, %s; PyTorch allocates as on that GPU, and computes nothing%s"
                 % (("no GPU here", said, "; --gpu NAME selects another") if gpu == "auto" else
                    ("--gpu %s" % gpu, said, "")))
        return stand_in
    if gpu != "auto":
        say_once(folder, "refused", "no GPU is simulated: %s" % said)
    elif how == NO_CUDA:
        note(folder, "refused", said)  # printed at the end: without it there may be no trace
    return None
