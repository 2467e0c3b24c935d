"""tracer/python/vramscope_waits.py - says on stderr which collective a rank has waited in for long.

NCCL's collectives are simulated, and report a rank that is not there themselves. Those of Gloo, and what groups are
made with, wait in PyTorch for up to half an hour without a word. A thread polls the stacks of the others from time to
time: a call of torch.distributed that is still there after the limit is named, with its ranks and the program's line.
It calls nothing of PyTorch but questions about groups, and wraps none of its collectives.
"""
import functools
import os
import sys
import threading
import time

LIMIT_S = 300.0  # PyTorch gives up after ten minutes (NCCL's groups) or thirty
POLLS = 20  # so many within the limit
POLL_S_MAX = 5.0


def limit():
    try:
        seconds = float(os.environ.get("VRAMSCOPE_RANK_WAIT", ""))
    except ValueError:
        seconds = 0
    return seconds if seconds > 0 else LIMIT_S


class Waits:
    def __init__(self, torch, folder):
        self.dist = torch.distributed
        self.inside = os.path.join(os.path.dirname(torch.__file__), "distributed") + os.sep
        self.apart = (os.path.dirname(torch.__file__) + os.sep, os.path.realpath(folder) + os.sep, folder + os.sep)
        self.limit = limit()
        self.since = {}  # by thread: (what identifies its call, when it was seen first, whether it was named)

    def start(self):
        threading.Thread(target=self.run, name="vramscope waits", daemon=True).start()

    def run(self):
        while True:
            time.sleep(min(self.limit / POLLS, POLL_S_MAX))
            try:
                self.poll(time.monotonic())
            except Exception:  # a stack that changes while it is read
                pass

    def call_of(self, frame):
        """The outermost of the functions of torch.distributed that a stack ends in, and what calls it; or None."""
        call = None
        while frame is not None and frame.f_code.co_filename.startswith(self.apart):
            if frame.f_code.co_filename.startswith(self.inside) and not frame.f_code.co_name.startswith("_"):
                call = frame if frame.f_code.co_name != "wrapper" else call
            frame = frame.f_back
        return (call, frame) if call is not None and frame is not None else None

    def poll(self, now):
        for thread, frame in sys._current_frames().items():
            if thread == threading.get_ident():
                continue
            found = self.call_of(frame)
            if found is None:
                self.since.pop(thread, None)
                continue
            what = (id(found[0]), id(frame), frame.f_lasti)  # the innermost one has not moved
            known = self.since.get(thread)
            if known is None or known[0] != what:
                self.since[thread] = (what, now, False)
            elif now - known[1] >= self.limit and not known[2]:
                self.since[thread] = (what, known[1], True)
                self.say(*found)

    @staticmethod
    def described(ranks, backend):
        return " of ranks %s (%s)" % (" ".join(map(str, ranks)), backend)

    def say(self, call, caller):
        rank, world, where = os.environ.get("RANK", "?"), os.environ.get("WORLD_SIZE", "?"), ""
        if self.dist.is_initialized():
            rank, world = self.dist.get_rank(), self.dist.get_world_size()
            group = call.f_locals.get("group") or self.dist.group.WORLD
            if call.f_code.co_name == "new_group":
                ranks = call.f_locals.get("ranks") or range(world)
                where = self.described(ranks, call.f_locals.get("backend") or self.dist.get_backend())
            elif isinstance(group, self.dist.ProcessGroup):
                where = self.described(self.dist.get_process_group_ranks(group), self.dist.get_backend(group))
        sys.stderr.write("vramscope: rank %s of %s has waited %g s in %s%s, called at %s:%d\n" % (
            rank, world, self.limit, call.f_code.co_name, where, caller.f_code.co_filename, caller.f_lineno))
        sys.stderr.flush()


def watch(stand_in, torch):
    """From the first process group on."""
    c10d = torch.distributed.distributed_c10d
    real = c10d.init_process_group
    waits = Waits(torch, stand_in.folder)
    started = []

    @functools.wraps(real)
    def init_process_group(*args, **kwargs):
        stand_in.has_own_frames = True
        if os.getpid() not in started:  # a process that is forked has no thread
            started.append(os.getpid())
            waits.start()
        return real(*args, **kwargs)

    c10d.init_process_group = torch.distributed.init_process_group = init_process_group
