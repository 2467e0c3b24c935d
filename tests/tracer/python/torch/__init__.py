"""tests/tracer/python/torch/__init__.py - stands in for PyTorch in the tests of `vramscope record -- python3 …`: what
the recorder calls of it, in Python, without a GPU.

Its CUDA begins when torch.cuda.init() is called, as PyTorch's does at the first use. The memory history is that of a
published snapshot (FAKE_TORCH_SNAPSHOT). FAKE_TORCH_SAY is a file that gets a line for what the recorder asked for.
FAKE_TORCH_FAIL: taking the snapshot fails.
"""
import os

if os.environ.get("FAKE_TORCH_BROKEN"):
    raise ImportError("libcudart.so.13: cannot open shared object file")

__version__ = "2.15.0+fake"


class OutOfMemoryError(RuntimeError):
    pass


class _C:
    observers = []

    @staticmethod
    def _cuda_attach_out_of_memory_observer(observer):
        _C.observers.append(observer)


from torch import cuda  # noqa: E402,F401
