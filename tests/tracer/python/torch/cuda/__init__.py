"""tests/tracer/python/torch/cuda/__init__.py - see torch/__init__.py. A process that was forked after CUDA began has
none, as in PyTorch."""
import os

_initialized = False
_pid = None
_queued_calls = []


def is_initialized():
    return _initialized and not _is_in_bad_fork()


def _is_in_bad_fork():
    return _initialized and os.getpid() != _pid


def _lazy_call(callable, **kwargs):
    if is_initialized():
        callable()
    else:
        _queued_calls.append(callable)


def init():
    global _initialized, _pid
    if is_initialized():
        return
    if _is_in_bad_fork():
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess.")
    for queued_call in _queued_calls:
        queued_call()
    _initialized, _pid = True, os.getpid()


def device_count():
    return 2


def run_out_of_memory():
    """As the allocator does when the driver refuses: the observers first, then the error."""
    import torch

    for observer in torch._C.observers:
        observer(0, 1 << 30, 1 << 34, 1 << 20)
    raise torch.OutOfMemoryError("CUDA out of memory.")


from torch.cuda import memory  # noqa: E402,F401
