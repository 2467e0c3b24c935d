"""tracer/python/vramscope_values.py - `--values uniform`: values of a simulated GPU that are better than zeros.

Integers and booleans are computed: each operator of PyTorch in the lists below is run again on the host, over copies
of the device's tensors, where all that it reads is known. Known is what comes from the host (token numbers, masks),
from constants, and from other operators of the lists. Floats are not computed. What is chosen by floats is chosen in
turn: topk, argmax, sort, multinomial take 0, 1, 2 and so on; of a comparison every second element is true; nothing is
infinite or NaN; the n-th float that the host reads is 1/n, which is never zero and converges.

The functions are registered for BackendSelect, a dispatch key below autograd and above the device's own functions, so
they see each operator wherever it is called from, and the allocations are PyTorch's own. A copy belongs to a storage,
is as large as it, and is forgotten with it or when the storage is changed by an operator that is not in the lists.
"""
import ctypes
import functools
import threading
import warnings

BYTES_MAX = 256 << 20  # of a storage
FLOAT_BYTES_MAX = 64  # of one of floats: constants, such as whether a gradient is infinite

# Computed where all inputs are known.
COMPUTED = """abs add add_ all amax amin aminmax any argmax argmin argsort bincount bitwise_and bitwise_left_shift
 bitwise_not bitwise_or bitwise_right_shift bitwise_xor bucketize cat clamp clamp_min clamp_max cumsum cumsum_
 diff eq flip floor_divide floor_divide_ fmod gather ge gt histc index index_add index_add_ index_copy index_fill
 index_fill_ index_put index_put_ _index_put_impl_ index_select isin le logical_and logical_and_ logical_not
 logical_not_ logical_or logical_or_ logical_xor lt masked_fill masked_fill_ masked_scatter masked_scatter_
 masked_select max maximum min minimum mul mul_ ne neg nonzero one_hot prod remainder remainder_ repeat
 repeat_interleave roll rsub scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_ searchsorted
 sort sub sub_ sum take_along_dim topk tril tril_ triu triu_ unique_consecutive unique_dim _unique2 where""".split()
# They overwrite the whole of their first argument.
WRITTEN = "zero_ fill_ copy_ random_ arange randperm".split()
# Of unknown floats: the indices that are chosen, and booleans that are the same for all.
CHOSEN = "topk argmax argmin max min sort argsort multinomial".split()
CONSTANT = {"isnan": False, "isinf": False, "isposinf": False, "isneginf": False, "isfinite": True}
COMPARED = "eq ne lt le gt ge".split()
READ = ["_local_scalar_dense"]
# Its second argument, whether a gradient is infinite, stays as it is.
FINITE = ["_amp_foreach_non_finite_check_and_unscale_"]


class Values:
    def __init__(self, torch, library):
        from torch.multiprocessing.reductions import StorageWeakRef

        self.torch = torch
        self.library = library
        self.weak = StorageWeakRef
        self.kept = {}  # of a storage: weak reference, bytes on the host, version or None: as it is at the next use
        self.floats = 0
        self.generator = torch.Generator().manual_seed(0)
        self.inside = threading.local()
        self.below = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)
        self.registered = torch.library.Library("aten", "IMPL")
        for name in dict.fromkeys(COMPUTED + WRITTEN + CHOSEN + list(CONSTANT) + COMPARED + READ + FINITE):
            packet = getattr(torch.ops.aten, name, None)
            for overload in packet.overloads() if packet else ():
                self.register(getattr(packet, overload))

    def register(self, op):
        name = op._schema.name.split("::")[1]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.registered.impl(op, functools.partial(self.called, op, name), "BackendSelect", with_keyset=True)
        except Exception:  # it has a function for this key: it makes a tensor of numbers alone
            pass

    # ---- copies on the host ----

    def find(self, tensor):
        """The copy of a tensor, with its shape; None: it is not known."""
        key = tensor.untyped_storage()._cdata
        entry = self.kept.get(key)
        if entry is None:
            return None
        ref, data, version = entry
        now = self.version(tensor)
        if ref.expired() or (version is not None and version != now):
            del self.kept[key]
            return None
        self.kept[key] = (ref, data, now)
        return self.torch.empty(0, dtype=tensor.dtype).set_(data, tensor.storage_offset(), tensor.size(),
                                                            tensor.stride())

    @staticmethod
    def version(tensor):
        return 0 if tensor.is_inference() else tensor._version

    def new(self, tensor, is_result):
        """A copy that is to be filled; None: it cannot be kept, and what was known is forgotten. is_result: the tensor
        is new, and what else is in its storage belongs to nobody."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.kept and not self.kept[key][0].expired():
            self.kept[key] = self.kept[key][:2] + (None,)
            return self.find(tensor)
        self.kept.pop(key, None)
        is_whole = is_result or tensor.numel() * tensor.element_size() == storage.nbytes()
        most = FLOAT_BYTES_MAX if tensor.is_floating_point() or tensor.is_complex() else BYTES_MAX
        if not is_whole or not 0 < storage.nbytes() <= most:
            return None
        if len(self.kept) % 1024 == 1023:
            self.kept = {k: entry for k, entry in self.kept.items() if not entry[0].expired()}
        self.kept[key] = (self.weak(storage), self.torch.UntypedStorage(storage.nbytes()), None)
        return self.find(tensor)

    def put(self, tensor, value, is_result=False):
        copy = self.new(tensor, is_result) if tensor.is_cuda else None
        if copy is not None and copy.shape == value.shape:
            copy.copy_(value)
        self.settle(tensor)

    def settle(self, tensor):
        """It was written just now, which its version says only when the operator has returned."""
        entry = self.kept.get(tensor.untyped_storage()._cdata)
        if entry:
            self.kept[tensor.untyped_storage()._cdata] = entry[:2] + (None,)

    def forget(self, tensor):
        self.kept.pop(tensor.untyped_storage()._cdata, None)

    # ---- operators ----

    def called(self, op, name, keys, *args, **named):
        args = self.numbers_made(op, args)

        def go_on():
            return op._handle.redispatch_boxed(keys & self.below, *args, **named)

        if getattr(self.inside, "is_so", False):
            return go_on()
        flat = self.tensors(args, named)
        if not any(t.is_cuda for t in flat):
            return go_on()
        self.inside.is_so = True
        try:
            before = self.prepare(name, op, args, named, flat)
        except Exception:
            before = None
        finally:
            self.inside.is_so = False
        result = go_on()
        self.library.sti_expect(None, 0)
        self.inside.is_so = True
        try:
            self.finish(name, op, args, named, result, before)
        except Exception:
            pass
        finally:
            self.inside.is_so = False
        return result

    def numbers_made(self, op, args):
        """A number that PyTorch made a tensor of, as in `x + 1`, comes here as a number. It is made a tensor again, of
        a dtype that makes the result as it would be: numbers count less than tensors in the promotion of types."""
        torch = self.torch
        numbers = [i for i, a in enumerate(args) if type(a) in (bool, int, float, complex)
                   and str(op._schema.arguments[i].type) == "Tensor"]
        if not numbers:
            return args
        beside = [a for a in args[op._schema.name == "aten::where":] if isinstance(a, torch.Tensor)]
        made = list(args)
        for i in numbers:
            dtype = torch.result_type(beside[0], args[i]) if beside else None
            made[i] = torch.tensor(args[i], dtype=dtype)
        return tuple(made)

    def tensors(self, args, named):
        flat = []
        for a in list(args) + list(named.values()):
            flat += [t for t in (a if isinstance(a, (list, tuple)) else [a]) if isinstance(t, self.torch.Tensor)]
        return flat

    def on_host(self, a):
        if isinstance(a, self.torch.Tensor):
            return self.find(a) if a.is_cuda else a
        if isinstance(a, (list, tuple)):
            return type(a)(self.on_host(x) for x in a)
        return a

    def expect(self, value):
        """The next read of the host has the bytes of this tensor."""
        data = value.contiguous().view(-1).view(self.torch.uint8).numpy().tobytes()
        self.library.sti_expect(data, len(data))

    def prepare(self, name, op, args, named, flat):
        """Before the operator: what the host will read in it, and the result as far as it is known."""
        torch = self.torch
        if name in READ:
            value = self.find(args[0])
            if value is None and args[0].is_floating_point():
                self.floats += 1
                value = torch.tensor(1.0 / self.floats, dtype=args[0].dtype)
            if value is not None:
                self.expect(value)
            return None
        if name in WRITTEN:
            return self.written(name, args, named)
        first = flat[0]
        known = all(not t.is_cuda or self.find(t) is not None for t in flat)
        if known and name in COMPUTED:
            if op._schema.is_mutable:  # its first argument, in place: the copy is changed as it is
                op(*(self.on_host(a) for a in args), **{k: self.on_host(a) for k, a in named.items()})
                return "in place"
            result = op(*(self.on_host(a) for a in args), **{k: self.on_host(a) for k, a in named.items()})
            if name in ("nonzero", "_unique2", "unique_consecutive", "unique_dim"):
                self.expect(torch.tensor((result if name == "nonzero" else result[0]).shape[0]))
            return result
        if name in CONSTANT:
            return torch.full(first.shape, CONSTANT[name])
        if not first.is_floating_point():
            return None
        if name in COMPARED:
            shape = torch.broadcast_shapes(*(t.shape for t in flat))
            return (torch.arange(max(1, shape.numel()))[:shape.numel()] % 2 == 1).reshape(shape)
        if name in CHOSEN:
            return self.chosen(name, args, named)
        return None

    def written(self, name, args, named):
        torch = self.torch
        if name in ("arange", "randperm"):  # into `out`, which PyTorch made before
            to = named["out"]
            numbers = [a for a in args if type(a) is int]
            value = torch.arange(*numbers) if name == "arange" else \
                torch.randperm(numbers[0], generator=self.generator)
            return to, value.to(to.dtype)
        to = args[0]
        if name == "zero_":
            return to, torch.zeros(to.shape, dtype=to.dtype)
        if name == "random_":
            return to, torch.empty(to.shape, dtype=to.dtype).random_(*args[1:], generator=self.generator)
        value = self.on_host(args[1]) if isinstance(args[1], torch.Tensor) else torch.tensor(args[1])
        if value is None or (value.is_floating_point() and not to.is_floating_point()):
            return to, None
        return to, value.to(to.dtype).expand(to.shape)

    def chosen(self, name, args, named):
        """Indices in turn: the tensor that stands for each row of choices, or None."""
        torch = self.torch
        x = args[0]
        count = 1
        dim = -1
        if name in ("topk", "multinomial"):
            count = args[1]
            dim = args[2] if name == "topk" and len(args) > 2 else named.get("dim", -1)
        elif name in ("sort", "argsort"):
            dims = [a for a in args[1:] if type(a) is int] + [named["dim"]] if "dim" in named else \
                [a for a in args[1:] if type(a) is int]
            dim = dims[0] if dims else -1
            count = x.shape[dim] if x.dim() else 1
        else:
            dim = args[1] if len(args) > 1 else named.get("dim")
            if dim is None:
                return torch.zeros((), dtype=torch.int64)
        if not x.dim():
            return torch.zeros((), dtype=torch.int64)
        n = x.shape[dim]
        rows = x.numel() // n if n else 0
        first = torch.zeros(rows, dtype=torch.int64) if count == n else torch.arange(rows) * count
        choice = (first[:, None] + torch.arange(count)) % max(1, n)
        others = list(x.shape)
        del others[dim]
        choice = choice.reshape(others + [count]).movedim(-1, dim if dim >= 0 else dim + x.dim())
        keep = args[2] if len(args) > 2 and name in ("argmax", "argmin", "max", "min") else named.get("keepdim", False)
        if name in ("argmax", "argmin", "max", "min") and not keep:
            choice = choice.squeeze(dim)
        return choice

    def finish(self, name, op, args, named, result, before):
        """After it: the results are kept, or what was known of a tensor that it changed is forgotten."""
        torch = self.torch
        if isinstance(before, str):
            self.settle(args[0])
            return
        if isinstance(before, tuple) and name in WRITTEN:
            to, value = before
            if value is None:
                self.forget(to)
            elif to.is_cuda:
                self.put(to, value)
            else:
                to.copy_(value)
            return
        if name in FINITE:
            self.settle(args[1])
            return
        if op._schema.is_mutable:
            for t in self.tensors(args, named):
                if t.is_cuda:
                    self.forget(t)
            return
        if before is None:
            return
        if isinstance(before, torch.Tensor):
            out = result if isinstance(result, torch.Tensor) else result[-1]  # indices stand behind values
            self.put(out, before, True)
            return
        for out, value in zip(result, before):
            if isinstance(out, torch.Tensor) and isinstance(value, torch.Tensor):
                self.put(out, value, True)
