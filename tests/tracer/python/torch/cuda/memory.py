"""tests/tracer/python/torch/cuda/memory.py - see torch/__init__.py. FAKE_TORCH_OLD: the function that turns the history
on is that of PyTorch 2.0."""
import gzip
import os
import pickle
import sys

_is_on = False


def _say(text):
    if os.environ.get("FAKE_TORCH_SAY"):
        with open(os.environ["FAKE_TORCH_SAY"], "a") as f:
            f.write(text + "\n")


if os.environ.get("FAKE_TORCH_OLD"):
    def _record_memory_history(enabled, record_context=True, trace_alloc_max_entries=1,
                               trace_alloc_record_context=False, device=None,
                               _enable_expensive_cpp=False):
        global _is_on
        _is_on = enabled
        _say("old %s %s %d %s %s" % (enabled, record_context, trace_alloc_max_entries,
                                     trace_alloc_record_context, device))
else:
    def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=sys.maxsize,
                               device=None):
        global _is_on
        if not isinstance(enabled, (str, type(None))):
            raise TypeError("enabled")
        _is_on = enabled is not None
        _say("new %s %s %s %d" % (enabled, context, stacks, max_entries))


def _snapshot(device=None):
    _say("snapshot")
    if os.environ.get("FAKE_TORCH_FAIL"):
        raise RuntimeError("the allocator has\nno history")
    with gzip.open(os.environ["FAKE_TORCH_SNAPSHOT"]) as f:
        snapshot = pickle.load(f)
    if not _is_on:
        snapshot["device_traces"] = [[] for _ in snapshot["device_traces"]]
    return snapshot
