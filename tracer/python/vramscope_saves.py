"""tracer/python/vramscope_saves.py - when PyTorch's memory history is written while the program runs, and how it is
taken: for a process that is killed, which cannot write it.

A thread does so every few seconds, and rarer the longer it takes, so that it takes a fiftieth of the time at most. The
thread is not one of Python's module threading, where the program would find it.

The program must not run between the taking of a snapshot and its release: the collector of reference cycles counts
objects, and runs when there are enough of them. So all of it is one call that runs no line of Python.
"""
import _thread
import functools
import gc
import operator
import os
import pickle
import time

EVERY_S = 10.0
SHARE = 50  # the next one is so many times as far away as this one took of a core
PICKLE_PROTOCOL = 4
CALL = operator.methodcaller("__call__")


def every():
    """Seconds between two of them; 0: none is wanted."""
    try:
        seconds = float(os.environ.get("VRAMSCOPE_SAVE_EVERY", ""))
    except ValueError:
        return EVERY_S
    return seconds if seconds >= 0 else EVERY_S


class Saves:
    """history: of vramscope_torch.py."""

    def __init__(self, history, torch):
        self.history = history
        self.torch = torch
        self.every = every()

    def begin(self):
        if self.every:
            _thread.start_new_thread(self.run, ())

    def run(self):
        wait = self.every
        while True:
            time.sleep(wait)
            begin = time.thread_time()
            try:
                if not self.history.save():
                    return
            except Exception as e:
                self.history.say("trouble", "save: %s: %s" % (type(e).__name__, e))
            wait = max(self.every, SHARE * (time.thread_time() - begin))

    def takers(self):
        """What takes a snapshot, by version of PyTorch: functions without a line of Python."""
        take = getattr(self.torch._C, "_cuda_memorySnapshot", None)
        return [functools.partial(take, None), take] if take else [self.torch.cuda.memory._snapshot]

    def snapshot(self):
        """A snapshot as a pickle."""
        failure = None
        for take in self.takers():
            pickles = map(pickle.dumps, map(CALL, (take,)), (PICKLE_PROTOCOL,))
            steps = (functools.partial(next, pickles),)
            if gc.isenabled():
                steps = (gc.disable,) + steps + (gc.enable,)
            try:
                return [made for made in list(map(CALL, steps)) if made is not None][0]
            except TypeError as e:  # it has no such argument
                failure = e
            finally:
                if len(steps) > 1:
                    gc.enable()
        raise failure
