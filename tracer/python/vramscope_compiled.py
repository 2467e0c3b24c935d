"""tracer/python/vramscope_compiled.py - what torch.compile made for a module that is gone is freed as if not recorded.

TorchDynamo removes a compiled function, which holds the parameters, when the code that calls it dies. PyTorch's memory
history holds the code of every frame in it, so in a recorded program no such code ever dies, and the parameters of
each compiled module would stay. Here the function is removed when Dynamo gives the code up: that is when the code would
die, unless it is running.

Nothing here may keep an object alive.
"""
import functools
import sys


def is_running(code):
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            if frame.f_code is code:
                return True
            frame = frame.f_back
    return False


def retire(code):
    """What Dynamo does when `code` dies."""
    from torch._dynamo.utils import CleanupManager

    manager = CleanupManager.instance
    if id(code) in manager.values and not is_running(code):
        manager._remove_id(id(code))


def code_of(check):
    """The code that runs where these guards hold, or None. PyTorch 2.4 and 2.5 have another name for the guards."""
    guards = getattr(check, "guard_manager", None) or getattr(check, "check_fn", None)
    return getattr(getattr(guards, "cache_entry", None), "code", None)


def watch_dynamo(dynamo):
    from torch._dynamo import guards
    from torch._dynamo.utils import CleanupManager

    plain = guards.CheckFunctionManager.invalidate
    reset = dynamo.reset_code_caches

    @functools.wraps(plain)
    def invalidate(self, *args, **kwargs):
        code = code_of(self)
        plain(self, *args, **kwargs)
        if code is not None:
            retire(code)

    @functools.wraps(reset)
    def reset_code_caches():
        reset()
        for ref in list(CleanupManager.instance.refs.values()):
            retire(ref())

    guards.CheckFunctionManager.invalidate = invalidate
    dynamo.reset_code_caches = reset_code_caches


def watch(torch, attempt):
    """Dynamo is imported by the first torch.compile. attempt: calls a function, and notes an exception."""
    plain = torch.compile
    is_watched = []

    @functools.wraps(plain)
    def compile(*args, **kwargs):
        compiled = plain(*args, **kwargs)
        if not is_watched:
            is_watched.append(True)
            attempt("torch.compile", watch_dynamo, sys.modules["torch._dynamo"])
        return compiled

    torch.compile = compile
