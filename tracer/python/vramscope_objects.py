"""tracer/python/vramscope_objects.py - the collectives of Python objects (all_gather_object and the like) over a
simulated GPU.

They pickle an object, copy it to the device, exchange sizes and bytes there, and read them back; between that a few
small tensors are computed with (the largest of all sizes). So in these functions what is on the device is kept, and
each op on tensors that are known is computed on the host, too. Allocations are PyTorch's own.

A rank that runs alone (vramscope_ranks.py) receives its own objects in place of the others'.
"""
import ctypes
import functools
import inspect


class Host:
    """The library's memory of what is on the device."""

    def __init__(self, library, torch):
        self.library = library
        self.torch = torch

    def value(self, tensor):
        """A copy of a tensor on the host; ValueError: it is not known."""
        size = tensor.numel() * tensor.element_size()
        if not tensor.is_contiguous() or not size:
            raise ValueError
        data = bytearray(size)
        place = (ctypes.c_char * size).from_buffer(data)
        if not self.library.sti_value_at(tensor.data_ptr(), place, size):
            raise ValueError
        return self.torch.frombuffer(data, dtype=tensor.dtype).reshape(tensor.shape)

    def set(self, tensor, value):
        value = value.contiguous()
        if tensor.is_contiguous() and tensor.shape == value.shape and tensor.dtype == value.dtype:
            self.library.sti_value_set(tensor.data_ptr(), value.data_ptr(), value.numel() * value.element_size())

    def compute(self, func, args, kwargs, out):
        """Compute on the host what `func` made on the device, if all that it takes is known. Views need nothing."""
        torch, is_new = self.torch, True

        def to_host(x):
            nonlocal is_new
            if not isinstance(x, torch.Tensor) or not x.is_cuda:
                return x
            is_new = is_new and x.untyped_storage().data_ptr() != out.untyped_storage().data_ptr()
            return self.value(x)

        if func.namespace != "aten" or not isinstance(out, torch.Tensor) or not out.is_cuda or not out.numel():
            return
        from torch.utils._pytree import tree_map

        host_args = tree_map(to_host, args)
        if is_new and "device" not in kwargs:
            self.set(out, func(*host_args, **kwargs))


def mode_of(host):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            try:
                host.compute(func, args, kwargs or {}, out)
            except Exception:
                pass  # not known, as most of what is on the device
            return out

    return Mode()


class Others:
    """What a rank that runs alone receives in place of the others' objects."""

    def __init__(self, library, c10d):
        self.library = library
        self.c10d = c10d

    def send(self, tensor, is_message):
        self.library.sti_send_for_others(tensor.data_ptr(), tensor.numel() * tensor.element_size(), is_message)

    def pickled(self, given, objects):
        """Bytes and sizes of the objects, on the host."""
        extra = [given["weights_only"]] if "weights_only" in given else []
        pairs = [self.c10d._object_to_tensor(o, "cpu", given["group"], *extra) for o in objects]
        return [data for data, _ in pairs], [size for _, size in pairs]

    def is_own(self, given, root):
        """Is this rank the one that the argument `src` or `dst` names, by its rank in the world or in the group?"""
        c10d, group = self.c10d, given["group"]
        if given.get("group_" + root) is not None:
            return c10d.get_rank(group) == given["group_" + root]
        return c10d.get_rank() == (given[root] or 0)

    def is_on_host(self, given):
        device_of = getattr(self.c10d, "_get_object_coll_device", None) or self.c10d._get_pg_default_device
        return str(given.get("device") or device_of(given["group"])).startswith("cpu")

    def broadcast(self, given, objects, is_message):
        data, sizes = self.pickled(given, objects)
        torch = self.c10d.torch
        self.send(torch.cat(sizes), is_message)
        self.send(torch.cat(data), is_message)

    def scatter(self, given, objects):
        data, sizes = self.pickled(given, objects[:1])
        self.send(sizes[0], False)  # of the largest
        self.send(data[0], True)
        self.send(sizes[0], True)

    def gather(self, given, size):
        data, _ = self.pickled(given, [given["obj"]])
        for _ in range(size - 1):
            self.send(data[0], True)

    def prepare(self, name, given):
        """Send in place of the others. True: the group is of the host, and nothing is left to do."""
        size = self.c10d.get_world_size(given["group"])
        if self.c10d._rank_not_in_group(given["group"]):
            return False
        on_host = self.is_on_host(given)
        if name == "all_gather_object":
            if on_host:
                given["object_list"][:] = [given["obj"]] * size
        elif name == "gather_object":
            if self.is_own(given, "dst"):
                if on_host:
                    given["object_gather_list"][:] = [given["obj"]] * size
                else:
                    self.gather(given, size)
        elif name == "scatter_object_list":
            out = given["scatter_object_output_list"]
            if not self.is_own(given, "src"):
                if not on_host:
                    self.scatter(given, out)
            elif on_host:
                out[0] = given["scatter_object_input_list"][self.c10d.get_rank(given["group"])]
        elif name == "recv_object_list" or not self.is_own(given, "src"):  # broadcast_object_list
            if not on_host:
                self.broadcast(given, given["object_list"], name == "recv_object_list")
        return on_host


def barrier_of(stand_in, torch, real):
    """A barrier of PyTorch 2.15 queries an event until it is complete, and all that is simulated is complete at once;
    who waits for the device waits for the other ranks, too."""
    @functools.wraps(real)
    def barrier(*args, **kwargs):
        stand_in.has_own_frames = True
        work = real(*args, **kwargs)
        if work is None and torch.cuda.is_initialized():
            torch.cuda.current_stream().synchronize()
        return work

    return barrier


NAMES = ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list", "send_object_list",
         "recv_object_list")


def watch(stand_in, torch, is_alone):
    library = stand_in.library
    dist = torch.distributed
    c10d = dist.distributed_c10d
    host = Host(library, torch)
    others = Others(library, c10d) if is_alone else None

    def wrap(name, real):
        signature = inspect.signature(real)

        @functools.wraps(real)
        def run(*args, **kwargs):
            stand_in.has_own_frames = True
            library.sti_hold_values(1)
            try:
                if others and name != "send_object_list":
                    given = signature.bind(*args, **kwargs)
                    given.apply_defaults()
                    if others.prepare(name, given.arguments):
                        return given.arguments.get("src") or 0 if name == "recv_object_list" else None
                with mode_of(host):
                    return real(*args, **kwargs)
            finally:
                library.sti_send_for_others(None, 0, 0)
                library.sti_hold_values(0)

        return run

    def replace(name, function):
        for module in (c10d, dist):
            if hasattr(module, name):
                setattr(module, name, function)

    for name in NAMES:
        if hasattr(c10d, name):
            replace(name, wrap(name, getattr(c10d, name)))
    replace("barrier", barrier_of(stand_in, torch, c10d.barrier))
