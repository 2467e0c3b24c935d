"""tests/oracle/case.py - one case in a process of its own: it begins with an empty allocator."""
import json
import os
import signal
import sys
import time
import traceback

import torch

import events
import netfile
import nogpu
import recompute
import record
import toggles as tg

SECONDS = 3600
decisions = {}  # what inplace=on comes to, by net file and checkpoint


def warm():
    """Reads the libraries' symbols once, here, and not again in every child."""
    frames = torch._C._profiler.gather_traceback(True, True, True)
    torch._C._profiler.symbolize_tracebacks([frames])


def in_child(work):
    """work() in a forked child; its JSON-able result, or {"error": ...}."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        signal.alarm(SECONDS)
        try:
            result = work()
        except tg.Refused as refused:
            result = {"error": str(refused), "refused": True}
        except Exception as error:
            result = {"error": "%s: %s" % (type(error).__name__, str(error).split("\n")[0]),
                      "trace": traceback.format_exc()}
        with os.fdopen(writer, "w") as f:
            json.dump(result, f)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else {"error": "the case died"}


def _decide(path, given):
    net = netfile.NetFile(path)
    return tg.decide_inplace(net, tg.settle(given, net), "cuda" if nogpu.active() else None)


def decide(path, given):
    """The toggle inplace=on settled, in a process of its own; once for each checkpoint."""
    if given.get("inplace") != "on":
        return None
    key = (path, given.get("checkpoint"), given.get("checkpoint-impl"))
    if key not in decisions:
        decisions[key] = in_child(lambda: _decide(path, given))
    return decisions[key]


def _settle_grad():
    """What autograd.grad captured is held by the device thread until it waits for more work, shortly after the call
    returned: wait for it, so that the gradients live as long in every run."""
    plain = torch.autograd.grad

    def grad(*args, **words):
        result = plain(*args, **words)
        time.sleep(0.01)
        return result

    torch.autograd.grad = grad


def _shapes(path, given):
    net = netfile.NetFile(path)
    return record.stage_shapes(net, tg.settle(given, net))


def _memory(path, given, decided, keep_scratch, shapes):
    _settle_grad()
    net = netfile.NetFile(path)
    toggles = tg.settle(given, net)
    report = record.run(net, dict(toggles, shapes=shapes), decided, keep_scratch)
    report["toggles"] = toggles
    rows = [e.row() for e in report["event_list"]]
    with open(path) as f:
        has_casts = toggles["amp"] != "off" or "autocast" in f.read()
    report["event_list"] = events.settle_casts(rows) if has_casts else rows
    return report


def _counts(path, given, decided, shapes):
    counter = recompute.Counter()
    counter.install()
    net = netfile.NetFile(path)
    return recompute.run(net, dict(tg.settle(given, net), shapes=shapes), decided, counter)


def has_checkpoint(path, given):
    with open(path) as f:
        return given.get("checkpoint", "off") != "off" or "checkpoint" in f.read()


def memory(path, given, keep_scratch=False):
    """The memory report of one net file with some toggles."""
    decided = decide(path, given)
    if decided is not None and "error" in decided:
        return decided
    shapes = in_child(lambda: _shapes(path, given)) if given.get("shard") == "pp" else None
    if shapes is not None and "error" in shapes:
        return shapes
    report = in_child(lambda: _memory(path, given, decided, keep_scratch, shapes))
    if "error" in report:
        return report
    if has_checkpoint(path, given):
        counts = in_child(lambda: _counts(path, given, decided, shapes))
        if "error" in counts:
            return counts
    else:
        zeros = [0] * report["toggles"]["steps"]
        counts = {"recomputed_ops": zeros, "recomputed_kernels": zeros}
    report.update(counts)
    report["torch"] = torch.__version__
    return report
