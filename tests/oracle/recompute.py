"""tests/oracle/recompute.py - counts the ops that a checkpoint runs again in backward.

Done in a run of its own: the dispatch mode that counts keeps tensors alive, so memory figures of
such a run mean nothing.
"""
import torch
from torch.utils import checkpoint as ckpt
from torch.utils._python_dispatch import TorchDispatchMode

import distributed
import loop
import record


class Count(TorchDispatchMode):
    def __init__(self, counter):
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func._schema.name
        empty = name.startswith("aten::empty") and isinstance(out, torch.Tensor) and not out.numel()
        if name.startswith("aten::") and name != "aten::detach" and not empty:
            self.counter.ops[-1] += 1
            if not func.is_view:
                self.counter.kernels[-1] += 1
        return out


class Counter:
    """Wraps what torch.utils.checkpoint runs; install before the net file is loaded."""

    def __init__(self):
        self.ops, self.kernels = [], []
        self.inside = False

    def install(self):
        plain = ckpt.checkpoint

        def checkpoint(function, *args, **kwargs):
            return plain(lambda *a, **k: self.call(function, a, k), *args, **kwargs)

        ckpt.checkpoint = checkpoint
        self.leave_out_cached()

    def leave_out_cached(self):
        """An op that a selective checkpoint answers with what it kept is not run."""
        mode = getattr(ckpt, "_CachedTorchDispatchMode", None)
        if mode is None:
            return
        plain = mode.__torch_dispatch__

        def dispatch(cached, func, types, args=(), kwargs=None):
            entry = None
            if func not in ckpt.SAC_IGNORED_OPS:
                entry = cached.storage.get(func, {}).get(cached.func_counter[func])
            if self.inside and entry is not None and entry is not ckpt._RECOMPUTE:
                self.ops[-1] -= 1
                self.kernels[-1] -= not func.is_view
            return plain(cached, func, types, args, kwargs)

        mode.__torch_dispatch__ = dispatch

    def call(self, function, args, kwargs):
        in_forward = torch._C._current_graph_task_id() == -1
        if in_forward or self.inside:
            return function(*args, **kwargs)
        self.inside = True
        try:
            with Count(self):
                return function(*args, **kwargs)
        finally:
            self.inside = False

    # the observer's side

    def step(self, index):
        self.ops.append(0)
        self.kernels.append(0)

    def phase(self, name):
        pass

    def loss(self, value):
        pass

    def batch(self, batch):
        pass

    def loss_ended(self, before_backward):
        pass

    def finish(self):
        pass


def run(net, toggles, decided, counter):
    """`counter` was installed before `net` was loaded."""
    torch.cuda.init()
    model, optimizer, scaler, notes = record.make(net, toggles, decided)
    with distributed.loss_context(toggles):
        loop.train(net, model, optimizer, scaler, toggles, "cuda", counter)
    return {"recomputed_ops": counter.ops, "recomputed_kernels": counter.kernels}
