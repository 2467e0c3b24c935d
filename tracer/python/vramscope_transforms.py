"""tracer/python/vramscope_transforms.py - says where a program is inside of torch.func's transforms (grad, vmap, jvp).

Their tensors contain others. PyTorch's profiler has weak references to all tensors that ops get, and a tensor that
contains another keeps it as long as there are some: what a transform frees would live until the end. So inside of a
transform no op is listed.

The allocations there are not listed either, where they are made by a thread of backward. How many there were before
each transform and after it says which ones of the history they are (vramscope_matching.py).
"""
import re
import sys

MODULES = ("torch._functorch.eager_transforms", "torch._functorch.vmap", "torch._C")
NAMES = re.compile("_(?:grad|vmap|jvp|func|vmapmode)_(in|de)crement_nesting$")
WHY = "inside of torch.func's transforms, whose tensors PyTorch's profiler would keep"


def counts(torch):
    """By device: how many allocations there have been."""
    return {device: torch._C._cuda_memoryStats(device)["allocation"]["all"]["allocated"]
            for device in range(torch.cuda.device_count())}


class Transforms:
    """Marks are ("transform", is it the beginning, allocations by device)."""

    def __init__(self, events):
        self.events = events
        self.torch = events.torch
        self.depth = 0
        self.why = None  # not everything was observed, or None
        self.watched = []  # modules of which something was replaced

    def watch(self):
        part = sys.modules[MODULES[0]].grad_increment_nesting.__wrapped__
        for module in (sys.modules.get(name) for name in MODULES):
            if module is None:
                continue
            self.watched.append(module)
            for name, call in list(vars(module).items()):
                found = NAMES.match(name)
                if found:
                    new = self.entering(call) if found.group(1) == "in" else self.leaving(call)
                    self.events.patch(module, name, self.events.as_part_of(part, new))

    def entering(self, call):
        def enter(*args):
            self.events.attempt("torch.func", self.begin)
            return call(*args)

        return enter

    def leaving(self, call):
        def leave(*args):
            try:
                return call(*args)
            finally:
                self.events.attempt("torch.func", self.end)

        return leave

    def begin(self):
        if not self.depth and not self.events.is_own_thread():
            return
        self.depth += 1
        if self.depth == 1:
            self.why = WHY
            self.events.mark(("transform", True, counts(self.torch)))
            self.torch._C._autograd._enable_record_function(False)

    def end(self):
        if self.depth and self.events.is_own_thread():
            self.depth -= 1
            if not self.depth:
                self.leave()

    def leave(self):
        self.depth = 0
        self.torch._C._autograd._enable_record_function(True)
        self.events.mark(("transform", False, counts(self.torch)))

    def gaps(self, reading, noted):
        """Right after the snapshot, by which no allocation may follow."""
        marks = [(reading.marks[number],) + what[1:] for number, what in noted.items()
                 if isinstance(what, tuple) and what[0] == "transform" and number in reading.marks]
        return Gaps(marks, counts(self.torch)) if marks else None

    def stop(self):
        """The observer ends, or what it replaced is put back."""
        if self.depth:
            self.leave()


class Gaps:
    """What was not listed. marks: of transforms, in order: (time, is it the beginning, allocations by device); at_end:
    allocations by device when the snapshot was made."""

    def __init__(self, marks, at_end):
        self.at_end = at_end
        self.all = []  # beginnings and ends
        for begin, end in zip(marks[::2], marks[1::2] + [(float("inf"), False, {})]):
            self.all.append((begin, end))

    def has_time(self, time):
        return any(begin[0] <= time < end[0] for begin, end in self.all)

    def listed(self, device, count):
        """Of each of the last `count` allocations of a device, whether it can be listed."""
        first = self.at_end.get(device, 0) - count
        out = [True] * count
        for (_, _, before), (_, _, after) in self.all:
            for i in range(max(before.get(device, 0) - first, 0), min(after.get(device, first + count) - first, count)):
                out[i] = False
        return out
