"""tracer/python/vramscope_reading.py - reads what PyTorch's profiler listed for vramscope_events.py, and adds it to the
events of a snapshot of the memory history.

An allocation of the profiler's list and one of the history are the same if they are the n-th at their address. The
keys that are added are those that recording/snapshot_facts.c reads.
"""
import re
from bisect import bisect_right

WHOLE = "vramscope all"  # range of a whole list: PyTorch leaves out allocations that are in no range
MODULE = "vramscope:"  # range of a module's call; its path follows
LOSS = "vramscope loss"
MARK = "vramscope mark "  # its number follows
COLLECTOR = "vramscope collector"  # Python's collector of reference cycles runs
OWN = "vramscope own"  # what this file does: it must not allocate
EVALUATE = "autograd::engine::evaluate_function: "
DIMS_MAX = 8


def op_of_node(node):
    return re.sub(r"Backward\d*$", "", node).lower()


def short(name):
    return name.rsplit("::", 1)[-1]


class Context:
    """Where an op runs. seq: number that autograd gives an op and its node; -1: none. order: of the outermost ops, as
    they come. forward: of a node, the context of the op that made it."""
    __slots__ = ("module", "op", "node", "phase", "seq", "is_recompute", "order", "forward")

    def __init__(self, module=None, op=None, node=None, phase=None, seq=-1, is_recompute=False, order=-1, forward=None):
        self.module, self.op, self.node, self.phase = module, op, node, phase
        self.seq, self.is_recompute, self.order, self.forward = seq, is_recompute, order, forward


class Allocation:
    """tensor: (bytes, dtype, sizes, strides); kind: what `name` names: parameter, buffer, gradient, optimizer. freed:
    the context of its free."""
    __slots__ = ("time", "size", "tensor", "context", "name", "kind", "freed")

    def __init__(self, time, size, context):
        self.time, self.size, self.context = time, size, context
        self.tensor = self.name = self.kind = self.freed = None


class Reading:
    """The profiler's lists, read one after the other: allocations by device and address, in order of time; times of
    marks."""

    def __init__(self, profiler):
        self.P = profiler
        self.by_address = {}
        self.marks = {}
        self.forwards = {}  # by sequence number: names and contexts of the ops that had it
        self.numbers = []  # those numbers, in order
        self.handing = None  # the op that made the last node
        self.tensors = {}  # by the profiler's number of the allocation: (bytes, dtype, sizes, strides)
        self.found = {}  # by the same: Allocation
        self.complete = set()
        self.ops = 0
        self.own = 0  # allocations and frees that this file made: none
        self.collected = 0  # frees by Python's collector

    def read(self, roots):
        stack = [(event, Context()) for event in reversed(roots)]
        torch_op, allocation = self.P._EventType.TorchOp, self.P._EventType.Allocation
        while stack:
            event, context = stack.pop()
            tag = event.tag
            if tag == torch_op:
                inner = self.op_read(event, context)
                for child in reversed(event.children):
                    stack.append((child, inner))
            elif tag == allocation:
                self.allocation_read(event, context)
        for number, made in self.found.items():
            made.tensor = self.tensors.get(number)
        self.tensors, self.found, self.complete = {}, {}, set()  # another list has numbers of its own

    def end(self):
        """Once all lists have been read."""
        for list_ in self.by_address.values():
            list_.sort(key=lambda made: made.time)

    def op_read(self, event, context):
        name = event.name
        if name.startswith("vramscope"):
            return self.own_read(event, name, context)
        fields = event.extra_fields
        self.inputs_read(fields.inputs)
        if name.startswith(EVALUATE):
            return self.node_read(short(name[len(EVALUATE):]), fields.sequence_number)
        scope = fields.scope
        if scope == self.P.RecordScope.USER_SCOPE:
            phase = ("optimizer" if name.startswith("Optimizer.step#") else
                     "zero_grad" if name.startswith("Optimizer.zero_grad#") else context.phase)
            if phase == context.phase:
                return context
            return Context(phase=phase)
        if scope != self.P.RecordScope.FUNCTION:
            return context
        inner = context
        seq = fields.sequence_number
        if context.op is None:
            self.ops += 1
            inner = Context(context.module, short(name), context.node, context.phase, seq, context.is_recompute,
                            self.ops)
        if seq >= 0:
            self.forwards.setdefault(seq, []).append((short(name).replace("_", "").lower(), inner))
        return inner

    def own_read(self, event, name, context):
        if name.startswith(MARK):
            self.marks[int(name[len(MARK):])] = event.start_time_ns
            return context
        if name == WHOLE:
            return context
        if name == OWN or name == COLLECTOR:
            return Context(context.module, name, context.node, context.phase)
        is_recompute = context.node is not None
        phase = "backward" if is_recompute else "loss" if name == LOSS else context.phase or "forward"
        module = context.module if name == LOSS else name[len(MODULE):]
        return Context(module, None, context.node, phase, is_recompute=is_recompute)

    def node_read(self, node, seq):
        """A node belongs to the module of the op that made it: the last one with its number and its name, else the one
        with the next smaller number, as an op may make several nodes. One without a number (AccumulateGrad) runs right
        after the node that hands it the gradient."""
        if seq >= 0:
            ops = self.forwards.get(seq, ())
            wanted = op_of_node(node)
            named = [context for name, context in ops if name == wanted]
            if not ops:
                if len(self.numbers) < len(self.forwards):
                    self.numbers = sorted(self.forwards)
                at = bisect_right(self.numbers, seq)
                ops = self.forwards[self.numbers[at - 1]] if at else ()
            self.handing = named[-1] if named else ops[-1][1] if ops else None
        forward = self.handing
        return Context(forward.module if forward else None, node, node, "backward", seq, forward=forward)

    def inputs_read(self, inputs):
        for value in inputs:
            if isinstance(value, self.P._TensorMetadata):
                self.tensor_read(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, self.P._TensorMetadata):
                        self.tensor_read(item)

    def tensor_read(self, tensor):
        """Of the tensors that share an allocation, the one that uses most of it is described."""
        number = tensor.allocation_id
        if number is None or number in self.complete or number not in self.found:
            return
        sizes = tensor.sizes
        count = 1
        for size in sizes:
            count *= size
        size = count * tensor.dtype.itemsize
        known = self.tensors.get(number)
        if len(sizes) <= DIMS_MAX and (known is None or size > known[0]):
            self.tensors[number] = (size, str(tensor.dtype)[6:], tuple(sizes), tuple(tensor.strides))
            if size + 512 > self.found[number].size:
                self.complete.add(number)

    def allocation_read(self, event, context):
        fields = event.extra_fields
        if fields.device.type != "cuda":
            return
        if fields.alloc_size <= 0:
            made = self.found.get(fields.allocation_id)
            if made is not None:
                made.freed = context
                self.own += context.op == OWN
                self.collected += context.op == COLLECTOR
            return
        made = Allocation(event.start_time_ns, fields.alloc_size, context)
        self.own += context.op == OWN
        if fields.allocation_id is not None:
            self.found[fields.allocation_id] = made
        self.by_address.setdefault((fields.device.index or 0, fields.ptr), []).append(made)

    def name(self, noted):
        """Give allocations the names that `noted` has, at the times of its marks."""
        times = {}
        for number, names in enumerate(noted):
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
                if about is not None and (made[i].tensor is None or about[0] >= made[i].tensor[0]):
                    made[i].tensor = about


class Matching:
    """Adds to the events of a snapshot what was read about them."""

    def __init__(self, reading, is_to_the_end):
        self.reading = reading
        self.is_to_the_end = is_to_the_end
        self.shared = {}  # equal facts are one tuple
        self.matched = self.total = 0
        self.frames_by_op = {}  # by the op's order
        self.orders = {}  # by module: the orders of its ops that have a stack; None: all

    def apply(self, snapshot):
        for device, trace in enumerate(snapshot["device_traces"]):
            pairs = self.pairs(device, trace)
            for event, _, made in pairs:
                self.frames_keep(event, made.context)
            self.orders = {None: sorted(self.frames_by_op)}
            for order, module in sorted((made.context.order, made.context.module or "") for _, _, made in pairs):
                if order in self.frames_by_op:
                    self.orders.setdefault(module, []).append(order)
            for event, free, made in pairs:
                self.say(event, made.context, self.about(made))
                if free is not None and made.freed is not None:
                    self.say(free, made.freed, (None, None, None, (), ()))

    def say(self, event, context, about):
        facts = (context.op, context.module, context.phase) + about
        event["facts"] = self.shared.setdefault(facts, facts)
        if not event.get("frames") and context.forward is not None:
            frames = self.frames_of(context.forward)
            if frames:
                event["forward_frames"] = frames

    def pairs(self, device, trace):
        """An allocation, its free or None, and what was read about it. Of each address the last ones of both are the
        same; the first ones, where the profiler was ended early."""
        by_address = {}
        for event in trace:
            if event["action"] == "alloc":
                by_address.setdefault(event["addr"], []).append([event, None])
            elif event["action"] == "free_requested" and event["addr"] in by_address:
                by_address[event["addr"]][-1][1] = event
        out = []
        for address, events in by_address.items():
            self.total += len(events)
            made = self.reading.by_address.get((device, address), ())
            count = min(len(events), len(made))
            if self.is_to_the_end:
                events, made = events[len(events) - count:], made[len(made) - count:]
            if all(event["size"] <= a.size for (event, _), a in zip(events, made)):
                out.extend((event, free, a) for (event, free), a in zip(events, made))
        self.matched += len(out)
        return out

    def frames_keep(self, event, context):
        if event.get("frames") and context.order >= 0 and context.order not in self.frames_by_op:
            self.frames_by_op[context.order] = event["frames"]

    def frames_of(self, op):
        """The stack of an op; of one that allocated nothing (a view, an op in place), that of the op before it in its
        module, else of the op before it."""
        found = self.frames_by_op.get(op.order)
        if found is not None:
            return found
        for orders in self.orders.get(op.module or "", ()), self.orders[None]:
            at = bisect_right(orders, op.order)
            if at:
                return self.frames_by_op[orders[at - 1]]
        return None

    def about(self, made):
        _, dtype, sizes, strides = made.tensor or (0, None, (), ())
        kind = made.kind
        if made.tensor is None and made.freed is made.context and made.context.op is not None:
            kind = "workspace"  # no op ever had it as an input, and it did not outlive the one it was allocated in
        return (kind, made.name, dtype, sizes, strides)
