"""tracer/python/vramscope_reading.py - reads what PyTorch's profiler listed for vramscope_events.py: allocations, ops
with what they use, nodes of autograd, casts, second runs of checkpoints. vramscope_matching.py adds it to a snapshot.
"""
import re
from bisect import bisect_right

WHOLE = "vramscope all"  # range of a whole list: PyTorch leaves out allocations that are in no range
MODULE = "vramscope:"  # range of a module's call; its path follows
LOSS = "vramscope loss"
MARK = "vramscope mark "  # its number follows
COLLECTOR = "vramscope collector"  # Python's collector of reference cycles runs
RERUN = "vramscope rerun "  # range of a checkpoint's second run; the name of its function follows
STOPPED = "vramscope stopped"  # a second run ends here, in the middle of an op
CACHE = "vramscope cache"  # range in which autocast clears its cache
OWN = "vramscope own"  # what this file does: it must not allocate
EVALUATE = "autograd::engine::evaluate_function: "
ADDING = ("aten::add", "aten::add_")
HIDING = ("CopySlices",)  # nodes that contain another one: what it saved cannot be asked for, and shows when it is used
TENSORLESS = ("aten::empty", "aten::empty_strided")  # ops that get no tensor
DIMS_MAX = 8
PLACE = "param_groups["  # in the name of what an optimizer alone knows

# What happened beside allocations (Reading.happened): (time, one of these, context, what it is about)
BEGIN, END = range(2)  # of an op, or of a node
USE = 2  # an op got a tensor: the profiler's number of its allocation
RELEASE = 3  # a node has run, and what it saved is released
GRADIENT = 4  # a node accumulates a gradient: number of the allocation
RERUN_BEGIN, RERUN_END = 5, 6  # name of the function
CAST = 7  # numbers of the allocations of copy and original, and the dtype of the original
CLEAR = 8  # autocast's cache is cleared
MARKED = 9  # number of the mark


def op_of_node(node):
    return re.sub(r"Backward\d*$", "", node).lower()


def inside(seq):
    """Autograd numbers the ops of each thread from 0. Those that run inside of a node, on the thread of backward, have
    negative numbers here, from -2 on: their nodes run inside of a node, too, where a checkpoint is reentrant."""
    return -2 - seq if seq >= 0 else seq


def short(name):
    return name.rsplit("::", 1)[-1]


def composite_ops():
    """Ops that consist of others: a second run of a checkpoint counts those."""
    try:
        import torch

        mixed = set(torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd"))
        others = set(torch._C._dispatch_get_all_op_names()).difference(mixed)
        composite = {name.split(".")[0] for name in mixed}
        composite.difference_update(name.split(".")[0] for name in others if not name.endswith("out"))
        return composite
    except Exception:  # another PyTorch: then they are counted
        return set()


class Context:
    """Where an op runs. seq: number that autograd gives an op and its node (`inside`); -1: none. order: of the
    outermost ops, as they come. forward: of a node, the context of the op that made it. time: of its begin.
    dispatched: ops that an op of a second run consists of. flops: its arithmetic; unknown: an op in it of
    which that is not known. overwritten: bytes that an op in place writes. makes_graph: a backward has run its node."""
    __slots__ = ("module", "op", "node", "phase", "seq", "is_recompute", "order", "forward", "time", "dispatched",
                 "flops", "unknown", "overwritten", "makes_graph")

    def __init__(self, module=None, op=None, node=None, phase=None, seq=-1, is_recompute=False, order=-1, forward=None,
                 time=0):
        self.module, self.op, self.node, self.phase = module, op, node, phase
        self.seq, self.is_recompute, self.order, self.forward = seq, is_recompute, order, forward
        self.time, self.dispatched = time, 0
        self.flops = self.overwritten = 0
        self.unknown = None
        self.makes_graph = False


class Allocation:
    """tensor: (bytes, dtype, sizes, strides); kind: what `name` names: parameter, buffer, gradient, optimizer. freed,
    freed_time: context and time of its free. at: device and address. index: of its event in the history, which says how
    many bytes were requested. others: names of further gradients that are parts of it."""
    __slots__ = ("at", "time", "size", "tensor", "context", "name", "kind", "others", "freed", "freed_time", "index",
                 "requested")

    def __init__(self, at, time, size, context):
        self.at, self.time, self.size, self.context, self.others = at, time, size, context, ()
        self.tensor = self.name = self.kind = self.freed = self.freed_time = self.index = self.requested = None


class Op:
    """What the name of an op says, full with its library, and the scope of an event. scope: what other events of that
    name must have, too; None: all have it. A range of the program may be called as an op that is not PyTorch's."""
    __slots__ = ("scope", "is_function", "is_user", "is_node", "name", "lower", "counts", "has_arithmetic",
                 "is_in_place", "has_tensors")

    def __init__(self, full, scope, scopes, composite, flops):
        self.scope = None if full.startswith("aten::") else scope
        self.is_function = scope == scopes.FUNCTION
        self.is_user, self.is_node = scope == scopes.USER_SCOPE, scope == scopes.BACKWARD_FUNCTION
        self.name = short(full)
        self.lower = self.name.replace("_", "").lower()
        self.counts = full not in composite and full != "aten::detach"  # as dispatched
        self.has_arithmetic = flops.may_count(self.name, full)
        self.is_in_place = full.endswith("_") and not full.endswith("__")
        self.has_tensors = full not in TENSORLESS


class Reading:
    """The profiler's lists, read one after the other: allocations by device and address, in order of time; times of
    marks."""

    def __init__(self, profiler, flops):
        self.P = profiler
        self.tensor = profiler._TensorMetadata
        self.flops = flops.Flops(profiler._TensorMetadata)
        self.names = {}  # by the full name of an op: Op
        self.op_names = {}  # by the name of a node: that of its op
        self.product = flops.CONVOLUTION, flops.CONVOLUTION_BACKWARD
        self.convolutions = []  # whose arithmetic shows in what they made
        self.scopes = profiler.RecordScope
        self.by_address = {}
        self.marks = {}
        self.forwards = {}  # by sequence number: names and contexts of the ops that had it
        self.numbers = []  # those numbers, in order
        self.handing = None  # the op that made the last node
        self.happened = []  # what is no allocation, not in order
        self.composite = composite_ops()
        self.tensors = {}  # by the profiler's number of the allocation: (bytes, dtype, sizes, strides)
        self.found = {}  # by the same: Allocation
        self.complete = set()
        self.ops = 0
        self.own = 0  # allocations and frees that this file made: none
        self.collected = 0  # frees by Python's collector

    def read(self, roots):
        first = len(self.happened)
        stack = [(event, Context()) for event in reversed(roots)]
        torch_op, allocation = self.P._ExtraFields_TorchOp, self.P._ExtraFields_Allocation
        while stack:
            event, context = stack.pop()
            fields = event.extra_fields
            if type(fields) is torch_op:
                inner = self.op_read(event, fields, context)
                for child in reversed(event.children):
                    stack.append((child, inner))
            elif type(fields) is allocation:
                self.allocation_read(event, fields, context)
        for number, made in self.found.items():
            made.tensor = self.tensors.get(number)
        self.happened[first:] = self.resolved(self.happened[first:])
        for one in self.convolutions:
            one.made = [self.found[made] if type(made) is int else made for made in one.made
                        if type(made) is not int or made in self.found]
        self.tensors, self.found, self.complete = {}, {}, set()  # another list has numbers of its own

    def resolved(self, happened):
        """With allocations instead of their numbers; without what is about memory that is not the GPU's."""
        out = []
        get = self.found.get
        for one in happened:
            time, kind, context, what = one
            if kind == USE or kind == GRADIENT:
                what = get(what)
                if what is None:
                    continue
                one = (time, kind, context, what)
            elif kind == CAST:
                copy, original = get(what[0]), get(what[1])
                if copy is None:
                    continue
                one = (time, kind, context, (copy, original, what[2]))
            out.append(one)
        return out

    def end(self):
        """Once all lists have been read."""
        for list_ in self.by_address.values():
            list_.sort(key=lambda made: made.time)
        self.happened.sort(key=lambda one: one[0])

    def op_read(self, event, fields, context):
        name = event.name
        if name.startswith("vramscope"):
            return self.own_read(event, name, context)
        if name.startswith(EVALUATE):
            is_inside = context.node is not None
            return self.node_read(event, short(name[len(EVALUATE):]), fields.sequence_number, is_inside)
        known = self.names.get(name)
        if known is None or known.scope is not None and known.scope != fields.scope:
            known = self.names[name] = Op(name, fields.scope, self.scopes, self.composite, self.flops)
        if not known.is_function:
            return self.range_read(event, name, known, fields.inputs, context)
        inner = context
        seq = fields.sequence_number
        inputs = fields.inputs if known.has_tensors else ()
        if context.op is None:
            inner = self.outermost(event, known, inputs, context, seq)
        else:
            self.inputs_read(inputs, event.start_time_ns, inner if inner.node in HIDING else None)
            if name == "aten::to" and self.is_cast(event):
                self.cast_read(event, inputs, inner)
        if known.has_arithmetic:
            self.arithmetic(event, name, inner)
        if seq >= 0:
            number = seq if context.node is None else inside(seq)
            self.forwards.setdefault(number, []).append((known.lower, inner))
            if inner.is_recompute and known.counts:
                inner.dispatched += 1
        return inner

    def range_read(self, event, name, known, inputs, context):
        """What is no op: a range that the program or PyTorch has begun, the part of a node that computes."""
        if known.is_user:
            self.inputs_read(inputs)
            phase = ("optimizer" if name.startswith("Optimizer.step#") else
                     "zero_grad" if name.startswith("Optimizer.zero_grad#") else context.phase)
            return context if phase == context.phase else Context(phase=phase)
        if known.is_node and context.node is not None:
            self.node_run(event, inputs, context)
        else:
            self.inputs_read(inputs)
        return context

    def counts(self, name):
        return name not in self.names or self.names[name].counts

    def interrupted(self, event, context):
        """A second run that has all it needs ends in an op, which does not count if it has only packed its inputs: it
        has not allocated anything. What is done in place packs its result."""
        op = event.parent
        while op is not None and not op.name.startswith("vramscope"):
            if (op.tag == self.P._EventType.TorchOp and op.extra_fields.sequence_number >= 0
                    and self.counts(op.name) and not op.name.endswith("_") and not self.made_in(op)):
                context.dispatched -= 1
                self.arithmetic_undo(op, context)
            op = op.parent

    def arithmetic_undo(self, event, context):
        if short(event.name) in self.product:
            if self.convolutions and self.convolutions[-1].context is context:
                self.convolutions.pop()
        elif context.flops:
            context.flops -= self.flops.of(event, short(event.name)) or 0

    def arithmetic(self, event, full, context):
        """Count the operations of an op, outermost or not."""
        name = short(full)
        if name in self.product and full.startswith("aten::"):
            found = self.flops.convolution(event, name, context)
            if found is not None and type(found) is not int:
                found.made = self.made_in(event)
                self.convolutions.append(found)
                return
        else:
            found = self.flops.of(event, name)
            if found is None and not self.flops.is_unknown(event, name, full):
                return
        if found is None:
            context.unknown = name
        else:
            context.flops += found

    def made_in(self, event):
        """The profiler's numbers of the allocations inside of an op."""
        out, todo = [], list(event.children)
        while todo:
            inside = todo.pop()
            if inside.tag == self.P._EventType.Allocation:
                fields = inside.extra_fields
                if fields.alloc_size > 0 and fields.allocation_id is not None and fields.device.type == "cuda":
                    out.append(fields.allocation_id)
            todo.extend(inside.children)
        return out

    def overwritten(self, inputs):
        """Bytes of the first argument, a tensor of the GPU or several."""
        first = inputs[0] if inputs else None
        count = 0
        for one in first if isinstance(first, list) else (first,):
            if type(one) is self.tensor and one.device.type == "cuda":
                size = one.dtype.itemsize
                for dim in one.sizes:
                    size *= dim
                count += size
        return count

    def outermost(self, event, known, inputs, context, seq):
        self.ops += 1
        time = event.start_time_ns
        inner = Context(context.module, known.name, context.node, context.phase, seq, context.is_recompute, self.ops,
                        None, time)
        if known.is_in_place:
            inner.overwritten = self.overwritten(inputs)
        self.happened.append((time, BEGIN, inner, None))
        self.inputs_read(inputs, time, inner)
        self.happened.append((max(time, event.end_time_ns), END, inner, None))
        return inner

    def is_cast(self, event):
        """Under autocast an op calls itself, after it has converted what it got."""
        op = event.parent
        return op is not None and op.tag == self.P._EventType.TorchOp and any(
            child.tag == self.P._EventType.TorchOp and child.name == op.name for child in op.children)

    def cast_read(self, event, inputs, context):
        original = [value for value in inputs if type(value) is self.tensor]
        todo = [event]
        while original and todo:
            inside = todo.pop()
            if inside.tag == self.P._EventType.Allocation:
                fields = inside.extra_fields
                if fields.alloc_size > 0 and fields.allocation_id is not None and fields.device.type == "cuda":
                    about = fields.allocation_id, original[0].allocation_id, str(original[0].dtype)[6:]
                    self.happened.append((max(event.start_time_ns, event.end_time_ns), CAST, context, about))
                    return
            todo.extend(reversed(inside.children))

    def own_read(self, event, name, context):
        if name.startswith(MARK):
            number = int(name[len(MARK):])
            self.marks[number] = event.start_time_ns
            self.happened.append((event.start_time_ns, MARKED, context, number))
            return context
        if name.startswith(RERUN):
            self.happened.append((event.start_time_ns, RERUN_BEGIN, context, name[len(RERUN):]))
            self.happened.append((max(event.start_time_ns, event.end_time_ns), RERUN_END, context, name[len(RERUN):]))
            return Context(context.module, None, context.node, "backward", is_recompute=True)
        if name == STOPPED:
            self.interrupted(event, context)
            return context
        if name == CACHE:
            self.happened.append((event.start_time_ns, CLEAR, context, None))
            return context
        if name == WHOLE:
            return context
        if name == OWN or name == COLLECTOR:
            return Context(context.module, name, context.node, context.phase)
        is_recompute = context.node is not None
        phase = "backward" if is_recompute else "loss" if name == LOSS else context.phase or "forward"
        module = context.module if name == LOSS else name[len(MODULE):]
        return Context(module, None, context.node, phase, is_recompute=is_recompute)

    def node_read(self, event, node, seq, is_inside):
        """One without a number (AccumulateGrad) runs right after the node that hands it the gradient."""
        time = event.start_time_ns
        if is_inside:
            seq = inside(seq)
        if seq != -1:
            self.handing = self.origin(seq, node, time)
        forward = self.handing
        context = Context(forward.module if forward else None, node, node, "backward", seq, forward=forward, time=time)
        self.happened.append((time, BEGIN, context, None))
        self.happened.append((max(time, event.end_time_ns), END, context, None))
        self.happened.append((self.released(event), RELEASE, context, None))
        return context

    def released(self, event):
        """When a node releases what it saved: it has computed, and its results have the shapes that they must have;
        then they are added to others."""
        time = event.start_time_ns
        for child in event.children:
            if child.tag == self.P._EventType.TorchOp:
                if child.name in ADDING:
                    break
                time = max(time, child.end_time_ns)
        return time

    def origin(self, seq, node, time):
        """The op that made a node: the last one before `time` with its number and its name, else the one with the next
        smaller number, as an op may make several nodes. Or, where a gradient has a graph of its own, one inside of a
        node."""
        wanted = self.op_names.get(node)
        if wanted is None:
            wanted = self.op_names[node] = op_of_node(node)
        ops = self.before(seq, time)
        named = [context for name, context in ops if name == wanted]
        if not named and seq >= 0:
            named = [context for name, context in self.before(inside(seq), time) if name == wanted]
        if not ops and not named:
            if len(self.numbers) < len(self.forwards):
                self.numbers = sorted(self.forwards)
            at = bisect_right(self.numbers, seq)
            ops = self.forwards[self.numbers[at - 1]] if at else ()
        return named[-1] if named else ops[-1][1] if ops else None

    def before(self, seq, time):
        """Names and contexts of the ops with a number that began before."""
        return [one for one in self.forwards.get(seq, ()) if one[1].time <= time]

    def node_run(self, event, inputs, context):
        """The part of a node that computes."""
        time = event.start_time_ns
        self.inputs_read(inputs, time, context)
        if context.node == "AccumulateGrad":
            for value in inputs:
                if type(value) is self.tensor and value.allocation_id is not None:
                    self.happened.append((max(time, event.end_time_ns), GRADIENT, context, value.allocation_id))

    def inputs_read(self, inputs, time=0, user=None):
        """user: the context that uses them, at this time; None: nothing is noted."""
        for value in inputs:
            kind = type(value)
            if kind is self.tensor:
                self.tensor_read(value, time, user)
            elif kind is list:
                for item in value:
                    if type(item) is self.tensor:
                        self.tensor_read(item, time, user)

    def tensor_read(self, tensor, time, user):
        number = tensor.allocation_id
        if number is None:
            return
        if user is not None:
            self.happened.append((time, USE, user, number))
        if number not in self.complete:
            self.tensor_describe(tensor, number)

    def tensor_describe(self, tensor, number):
        """Of the tensors that share an allocation, the one that uses most of it is described. The allocation itself may
        come later in the list: of another thread."""
        sizes = tensor.sizes
        count = 1
        for size in sizes:
            count *= size
        size = count * tensor.dtype.itemsize
        known = self.tensors.get(number)
        if len(sizes) <= DIMS_MAX and (known is None or size > known[0]):
            self.tensors[number] = (size, str(tensor.dtype)[6:], tuple(sizes), tuple(tensor.strides))
            made = self.found.get(number)
            if made is not None and size + 512 > made.size:
                self.complete.add(number)

    def allocation_read(self, event, fields, context):
        device = fields.device
        if device.type != "cuda":
            return
        if fields.alloc_size <= 0:
            made = self.found.get(fields.allocation_id)
            if made is not None:
                made.freed, made.freed_time = context, event.start_time_ns
                self.own += context.op == OWN
                self.collected += context.op == COLLECTOR
            return
        at = (device.index or 0, fields.ptr)
        made = Allocation(at, event.start_time_ns, fields.alloc_size, context)
        self.own += context.op == OWN
        if fields.allocation_id is not None:
            self.found[fields.allocation_id] = made
        self.by_address.setdefault(at, []).append(made)

    def name(self, noted):
        """Give allocations the names that `noted` has, at the times of its marks."""
        times = {}
        for number, names in noted.items():
            if isinstance(names, tuple):  # not names: what vramscope_nodes.py found
                continue
            for at, kind, name, about in names if number in self.marks else ():
                made = self.by_address.get(at)
                if not made:
                    continue
                if at not in times:
                    times[at] = [a.time for a in made]
                i = bisect_right(times[at], self.marks[number]) - 1
                if i < 0:
                    continue
                if made[i].name is None:
                    made[i].name, made[i].kind = name, kind
                elif kind == made[i].kind == "parameter" and PLACE not in name:
                    made[i].name = name  # it has been wrapped: what it is called now
                elif kind == "gradient" and name != made[i].name and name not in made[i].others:
                    made[i].others += (name,)
                if about is not None and (made[i].tensor is None or name and about[0] >= made[i].tensor[0]):
                    made[i].tensor = about
