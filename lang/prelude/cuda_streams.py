# lang/prelude/cuda_streams.py - torch.cuda: streams and events.
#
# For:       net files.
# Invariant: a stream is a number to the allocator, which keeps the blocks of each stream apart. All work is queued on
#            one stream here, so waiting for a stream or an event has nothing to do.
#
# torch._stream(number) sets the current stream and returns the one before; -1 only returns it.
import torch

_made = [0]


def _number(stream):
    return 0 if stream is None else stream.cuda_stream


class Event:
    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        self.enable_timing = enable_timing

    def record(self, stream=None):
        return None

    def wait(self, stream=None):
        return None

    def query(self):
        return True

    def synchronize(self):
        return None

    def elapsed_time(self, end_event):
        raise NotImplementedError("Event.elapsed_time(): times are not measured here; leave it out")


class Stream:
    def __init__(self, device=None, priority=0, *, _number=None):
        # PyTorch hands out the 32 streams of a pool in turn
        if _number is None:
            _number = _made[0] % 32 + 1
            _made[0] = _made[0] + 1
        self.cuda_stream = _number
        self.priority = priority
        self.device = torch.device("cuda")

    def wait_stream(self, stream):
        return None

    def wait_event(self, event):
        return None

    def record_event(self, event=None):
        return Event() if event is None else event

    def query(self):
        return True

    def synchronize(self):
        return None

    def __eq__(self, other):
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream


class StreamContext:
    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self._before = torch._stream(self.stream.cuda_stream)

    def __exit__(self, type, value, traceback):
        if self.stream is not None:
            torch._stream(self._before)


def stream(stream):
    return StreamContext(stream)


def current_stream(device=None):
    return Stream(_number=torch._stream(-1))


def default_stream(device=None):
    return Stream(_number=0)


def set_stream(stream):
    if stream is not None:
        torch._stream(stream.cuda_stream)


def _record_stream(tensor, stream):
    torch._record_stream(tensor, stream.cuda_stream)
