"""tests/oracle/nogpu/__init__.py - run a CUDA build of PyTorch where there is no GPU.

`enter()` builds a small library that stands in for the CUDA runtime and every CUDA library
PyTorch links (cuBLAS, cuDNN, ...), and starts this Python program again with it preloaded.
Device memory is then an address and nothing else: kernels do not run, values read back are zero.
Everything on the host is the real PyTorch: its dispatcher with CUDA's rules, autograd, autocast,
the optimizers' multi-tensor paths, the kernels' launch code with their temporaries, and the
caching allocator with its memory history.

Needs: nm and readelf (binutils), gcc, and torch's CUDA wheel; none of the nvidia-* wheels.
"""
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CUDA_SYMBOL = re.compile(r"^(cu[A-Z]|cuda|__cuda|cublas|cudnn|cusparse|cufft|cusolver|curand|cupti"
                         r"|nccl|nvrtc|nvshmem|nvtx|nvJitLink)")
CUDA_LIBRARY = re.compile(r"^lib(cu|nccl|nvrtc|nvshmem_host|nvtx|nvJitLink)")
VARIABLE = "VRAMSCOPE_NOGPU"


def _run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def _torch_libraries():
    folder = os.path.join(os.path.dirname(importlib.util.find_spec("torch").origin), "lib")
    for name in sorted(os.listdir(folder)):
        if re.match(r"lib(torch|c10|caffe2)\w*\.so$", name):
            yield os.path.join(folder, name)


def _imports():
    """Symbols, libraries and symbol versions that PyTorch takes from CUDA."""
    symbols, libraries, versions = set(), set(), {}
    for path in _torch_libraries():
        for line in _run("nm", "-D", "--undefined-only", path).splitlines():
            name = line.split()[-1].split("@")[0]
            if CUDA_SYMBOL.match(name):
                symbols.add(name)
        for name in re.findall(r"NEEDED.*\[(.*)\]", _run("readelf", "-d", path)):
            if CUDA_LIBRARY.match(name):
                libraries.add(name)
        library = None
        for line in _run("readelf", "-V", "-W", path).splitlines():
            file = re.search(r"File: (\S+)", line)
            version = re.search(r"Name: (\S+)  Flags", line)
            if file:
                library = file.group(1)
            elif version and library and CUDA_LIBRARY.match(library):
                versions.setdefault(library, set()).add(version.group(1))
    return symbols, libraries, versions


def _compile(folder, name, text, *flags):
    source = os.path.join(folder, name + ".c")
    with open(source, "w") as f:
        f.write(text)
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-O1", *flags, source, "-o",
                    os.path.join(folder, name)], check=True)


def build():
    """The folder with the stand-in libraries, built on first use."""
    with open(os.path.join(HERE, "runtime.c.in")) as f:
        runtime = f.read()
    with open(os.path.abspath(__file__)) as f:
        key = runtime + f.read() + "".join("%s %d" % (p, os.path.getsize(p))
                                           for p in _torch_libraries())
    folder = os.path.join(tempfile.gettempdir(),
                          "vramscope-nogpu-" + hashlib.sha256(key.encode()).hexdigest()[:16])
    if os.path.exists(os.path.join(folder, "libnogpu.so")):
        return folder
    work = tempfile.mkdtemp()
    symbols, libraries, versions = _imports()
    written = set(re.findall(r"^\w[\w *]*?\b(\w+)\(", runtime, re.M))
    rest = "".join("int %s(void) { return 0; }\n" % s for s in sorted(symbols - written))
    _compile(work, "libnogpu.so", runtime + rest, "-Wl,-soname,libnogpu.so")
    for name in sorted(libraries | {"libcuda.so.1"}):
        script = os.path.join(work, "versions")
        with open(script, "w") as f:
            f.writelines("%s {};\n" % v for v in sorted(versions.get(name, ())))
        flags = ["-Wl,--version-script=" + script] if versions.get(name) else []
        # A dependency, so that dlsym on this library finds the symbols too.
        needed = ["-L" + work, "-Wl,--no-as-needed", "-l:libnogpu.so"]
        _compile(work, name, "", "-Wl,-soname," + name, *flags, *needed)
    try:
        os.rename(work, folder)
    except OSError:  # another process was faster
        pass
    return folder


def active():
    return os.environ.get(VARIABLE) == "1"


def gpu_present():
    return os.path.exists("/dev/nvidia0") or os.path.exists("/dev/nvidiactl")


def enter():
    """Start this program again with the stand-in, unless it is there or a GPU is."""
    if active() or gpu_present():
        return
    folder = build()
    env = dict(os.environ)
    env[VARIABLE] = "1"
    env.setdefault("TORCH_SYMBOLIZE_MODE", "dladdr")  # frames need no line numbers
    env["LD_PRELOAD"] = os.path.join(folder, "libnogpu.so")
    env["LD_LIBRARY_PATH"] = folder + os.pathsep + env.get("LD_LIBRARY_PATH", "")
    os.execve(sys.executable, [sys.executable, *sys.argv], env)
