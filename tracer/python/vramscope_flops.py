"""tracer/python/vramscope_flops.py - the floating-point operations of an op, from what PyTorch's profiler says of its
inputs. vramscope_reading.py uses it.

What counts is what counts in a net (engine/core/flops.h): matrix products, convolutions and attention; a
multiplication and an addition are two. Everything else has no arithmetic that counts, but for ops of which this file
has no formula: those are known not to be known.
"""

# Which input is the left one of two that are multiplied.
PRODUCTS = {"mm": 0, "addmm": 1, "addmm_": 1, "_addmm_activation": 1, "bmm": 0, "baddbmm": 1, "baddbmm_": 1,
            "_scaled_mm": 0, "_int_mm": 0}
VECTORS = ("mv", "dot", "vdot")
ATTENTION = "_scaled_dot_product_"
ATTENTION_KINDS = ("flash_attention", "efficient_attention", "cudnn_attention")
CONVOLUTION, CONVOLUTION_BACKWARD = "convolution", "convolution_backward"
# They multiply, and what they do does not follow from their inputs, or nobody has written it down here.
UNKNOWN = {"_cudnn_rnn", "_cudnn_rnn_backward", "_grouped_mm", "_scaled_grouped_mm", "_convert_weight_to_int4pack",
           "_weight_int4pack_mm", "_weight_int8pack_mm", "_cdist_forward", "_cdist_backward",
           "_flash_attention_forward", "_flash_attention_backward", "_efficient_attention_forward",
           "_efficient_attention_backward", "_scaled_dot_product_fused_attention_overrideable",
           "_scaled_dot_product_fused_attention_overrideable_backward", "_fft_c2c", "_fft_c2r", "_fft_r2c"}
UNKNOWN_STARTS = ("linalg_", "_linalg_svd", "_linalg_eigh", "_linalg_solve", "_linalg_slogdet", "_linalg_det",
                  "cholesky", "geqrf", "ormqr", "triangular_solve", "lu_")
# Ops of other libraries that compute nothing.
SILENT = ("record_param_comms", "c10d::", "c10d_functional::", "_c10d_functional::", "prim::", "profiler::",
          "symm_mem::")


def volume(sizes):
    count = 1
    for size in sizes:
        count *= size
    return count


class Convolution:
    """A convolution, or its gradients: what it computes shows in the tensors that it makes. context: where it runs;
    end: its time; made: the allocations inside of it; unit: operations at one position of the kernel, or of one
    gradient. per: bytes of the result at one position, None where the positions are known. sizes: bytes of the
    gradients that are convolutions."""
    __slots__ = ("context", "end", "made", "unit", "per", "sizes")

    def __init__(self, context, end, unit, per, sizes):
        self.context, self.end, self.unit, self.per, self.sizes = context, end, unit, per, sizes
        self.made = []

    def results(self):
        """Requested bytes of what outlives it."""
        return [made.requested for made in self.made
                if made.requested is not None and (made.freed_time is None or made.freed_time >= self.end)]

    def flops(self):
        """None: not known."""
        results = self.results()
        if self.per is not None:
            return self.unit * (max(results) // self.per) if results else None
        count = 0
        for size in self.sizes:
            if size in results:
                results.remove(size)
                count += 1
        return self.unit * count


class Flops:
    """tensor: the profiler's class of descriptions of tensors."""

    def __init__(self, tensor):
        self.tensor = tensor

    def may_count(self, name, full):
        """Whether an op of this name can have arithmetic, known or not. full: the name with its library."""
        return (not full.startswith("aten::") or name in PRODUCTS or name in VECTORS or name in UNKNOWN
                or name in (CONVOLUTION, CONVOLUTION_BACKWARD) or name.startswith(UNKNOWN_STARTS + (ATTENTION,)))

    def inputs(self, event, first, count):
        """The sizes of `count` inputs on the GPU; None where one is none."""
        given = event.extra_fields.inputs[first:first + count]
        if len(given) < count or not all(isinstance(one, self.tensor) and one.device.type == "cuda" for one in given):
            return None
        return [one.sizes for one in given]

    def of(self, event, name):
        """Operations of an op that has a formula of its inputs; None: it has none."""
        if name in PRODUCTS:
            sizes = self.inputs(event, PRODUCTS[name], 2)
            return 2 * volume(sizes[0]) * sizes[1][-1] if sizes else 0
        if name in VECTORS:
            sizes = self.inputs(event, 0, 1)
            return 2 * volume(sizes[0]) if sizes else 0
        if name.startswith(ATTENTION):
            kind = name[len(ATTENTION):]
            if kind in ATTENTION_KINDS:
                return self.attention(self.inputs(event, 0, 3), 1, 1)
            if kind.endswith("_backward") and kind[:-len("_backward")] in ATTENTION_KINDS:
                # the scores again, and the gradients of query and key; those of the scores and of the value
                return self.attention(self.inputs(event, 1, 3), 3, 2)
        return None

    def attention(self, sizes, with_e, with_d):
        """q [B,H,L,E], k [B,H,S,E], v [B,H,S,D]: products of [L,E] with [E,S] (or of the same size), and of [L,S] with
        [S,D]."""
        if sizes is None or any(len(one) != 4 for one in sizes):
            return None
        q, k, v = sizes
        return 2 * q[0] * q[1] * q[2] * k[2] * (with_e * q[3] + with_d * v[3])

    def convolution(self, event, name, context):
        """A Convolution without its allocations; an integer where its operations are known; None: it is none."""
        is_backward = name == CONVOLUTION_BACKWARD
        sizes = self.inputs(event, 1 if is_backward else 0, 2)
        fields = event.extra_fields.inputs
        transposed = fields[7 if is_backward else 6] if len(fields) > 8 else None
        if sizes is None or not isinstance(transposed, bool):
            return None
        x, w = sizes
        dtype = fields[1 if is_backward else 0].dtype.itemsize
        unit = 2 * volume(w) * x[0]
        end = max(event.start_time_ns, event.end_time_ns)
        if is_backward:
            positions = volume(x[2:]) if transposed else volume(fields[0].sizes[2:])
            return Convolution(context, end, unit * positions, None, [volume(x) * dtype, volume(w) * dtype])
        if transposed:
            return unit * volume(x[2:])
        per = x[0] * w[0] * dtype
        return Convolution(context, end, unit, per, ()) if per else 0

    def is_unknown(self, event, name, full):
        """Whether an op has arithmetic and no formula. full: the name with its library."""
        parent = event.parent.name if event.parent is not None else ""
        if not full.startswith("aten::"):
            is_part = parent.startswith("aten::") or full.startswith(SILENT)
            return not is_part and self.has_own(event) and self.is_on_gpu(event)
        is_listed = name in UNKNOWN or name.startswith(UNKNOWN_STARTS)
        return is_listed and not parent.startswith("aten::" + ATTENTION) and self.is_on_gpu(event)

    def has_own(self, event):
        """Nothing of PyTorch runs inside of it."""
        return not any(child.tag == event.tag and child.name.startswith("aten::") for child in event.children)

    def is_on_gpu(self, event):
        return any(isinstance(one, self.tensor) and one.device.type == "cuda" for one in event.extra_fields.inputs)
