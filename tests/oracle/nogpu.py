"""tests/oracle/nogpu.py - a CUDA build of PyTorch where there is no GPU: the GPU that vramscope simulates.

`enter()` loads build/vramscope_standin.so (VRAMSCOPE_STANDIN names another one) into this process, and then torch.
docs/internals/standin.md says what is simulated: kernels do not run, values read back are zero, and everything on the
host is the real PyTorch. The GPU is an A100 with 8 TiB, so that memory never ends.
"""
import ctypes
import functools
import importlib.util
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GPU = "a100-80"
BYTES = 1 << 43

_stand_in = None


def library():
    return os.environ.get("VRAMSCOPE_STANDIN") or os.path.join(ROOT, "build", "vramscope_standin.so")


def active():
    return _stand_in is not None


def gpu_present():
    return os.path.exists("/dev/nvidia0") or os.path.exists("/dev/nvidiactl")


def has_cuda():
    """Is the torch of this Python a build for CUDA?"""
    folder = os.path.join(os.path.dirname(importlib.util.find_spec("torch").origin), "lib")
    return os.path.exists(os.path.join(folder, "libtorch_cuda.so"))


def prepare():
    """Simulate a GPU in this process, which has not imported torch."""
    global _stand_in
    if not os.path.exists(library()):
        raise SystemExit("%s is not there: run make" % library())
    sys.path.insert(0, os.path.join(ROOT, "tracer", "python"))
    import vramscope_standin

    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "settings"), "w") as f:
            f.write("gpu %s\ngpus 1\nstandin %s\n" % (GPU, os.path.abspath(library())))
        open(os.path.join(folder, "said-played"), "w").close()  # nothing is printed
        _stand_in = vramscope_standin.simulate(folder, importlib.util.find_spec("torch").origin)
    if _stand_in is None:
        raise SystemExit("no GPU is simulated")
    os.environ.setdefault("TORCH_SYMBOLIZE_MODE", "dladdr")  # frames need no line numbers
    simulate(GPU)


def enter():
    """prepare(), unless that was done or there is a real GPU; and import torch."""
    if active() or gpu_present():
        return
    prepare()
    import torch
    _stand_in.versions_set(torch)


def simulate(gpu):
    """This GPU of base/target.def from now on, in processes that have not used it yet."""
    if active():
        _stand_in.library.sti_set(b"gpu", gpu.encode())
        _stand_in.library.sti_set(b"memory", b"%d" % BYTES)


def store(world):
    """A store that answers for the other processes of `world`."""
    import torch.distributed as dist
    return dist.TCPStore("127.0.0.1", _stand_in.library.sti_store_port(), world, False, wait_for_workers=False)


@functools.cache
def watch_splits():
    """From now on a part of a process group has as many processes as it is asked for."""
    import torch.distributed as dist
    import vramscope_ranks
    vramscope_ranks.splits_watch(_stand_in, dist.distributed_c10d)


def collectives():
    """The collectives of this process so far, as NCCL was called: [[name, calls, bytes of this process]]."""
    if not active():
        return []
    text = ctypes.create_string_buffer(4096)
    _stand_in.library.sti_collectives(text, ctypes.c_size_t(len(text)))
    rows = [row.split(" ") for row in text.value.decode().split(" | ") if row]
    return [[name, int(count), int(size)] for count, size, name in rows]


class Values:
    """While it is entered, everything that goes to the device and comes back is kept."""

    def __enter__(self):
        _stand_in.library.sti_hold_values(1)

    def __exit__(self, *e):
        _stand_in.library.sti_hold_values(0)
