"""tracer/python/vramscope_matching.py - adds to the events of a snapshot of the memory history what
vramscope_reading.py read about them, and what happened between them.

An allocation of the profiler's list and one of the history are the same if they are the n-th at their address. The
keys that are added are those that recording/snapshot_facts.c and recording/snapshot_between.c read.
"""
import os
from array import array
from bisect import bisect_right

# What happens between the events of the allocator. The columns of a row: kind, number of the event of the history that
# comes next, context, then as said here; -1: none. Allocations are numbers of their events.
KINDS = ("op_begin",  # node, role, arithmetic, bytes overwritten in place
         "op_end",  # node, role, dispatched ops of a second run, arithmetic
         "use",  # allocation
         "save",  # allocation, node, is it an input of a checkpoint
         "unsave",  # the same, does anything else hold the block
         "gradient",  # allocation that became the .grad of a parameter, the name of that
         "ungradient",  # the same: the .grad is released
         "cast",  # copy, original, dtype of the original, dtype of the copy
         "cache",  # allocation that autocast's cache holds
         "uncache",  # the cache releases it
         "rerun_begin",  # name
         "rerun_end")  # name
QUERIES = ("_has_compatible_shallow_copy_type",)  # ops that ask what a tensor is, and read none of its memory
OP_BEGIN, OP_END, USE, SAVE, UNSAVE, GRADIENT, UNGRADIENT, CAST, CACHE, UNCACHE, RERUN_BEGIN, RERUN_END = range(12)
FORWARD, BACKWARD, RECOMPUTE = range(3)  # roles of an op
HALVES = ("float16", "bfloat16")
GRADIENT_OF = "grad of "
GRAPH = "graph"  # in place of a phase: what runs is known from its stack, otherwise it is the program's own forward
REENTRANT = "CheckpointFunctionBackward"  # its node keeps the arguments of a checkpoint


class Between:
    """What happened on one device between the events of its history."""

    def __init__(self, matching, device, trace, pairs):
        self.matching = matching
        self.reading = matching.reading
        self.R = matching.module
        self.device = device
        self.trace = trace
        self.pairs = pairs
        self.found = []  # (time, kind, context, a, b, c, d)
        self.opened = {}  # by number and name of a node: (allocations that it saved, until its backward has run)
        self.hooked = {}  # by number of a checkpoint's holder: number and name of the node that it is for
        self.reruns = {}  # by number and name of a node: allocations that a second run saved for it
        self.inputs = {}  # by number of a checkpoint: what it keeps of its function's arguments
        self.cached = []  # allocations in autocast's cache
        self.gradients = {}  # by id of an allocation: how many parameters' .grad it has become a part of
        self.began = 0  # when the last backward began
        self.ops = 0
        self.unknown = {}  # by name of an op without a formula: of how many ops it is the reason
        self.times = {}  # by device and address: times of its allocations
        self.names = {}
        self.contexts = {}
        self.last = max((seq for seq in self.reading.forwards if seq >= 0), default=-1) + 1

    def at(self, at, time):
        """The allocation at an address at a time."""
        if at[0] != self.device:
            return None
        made = self.reading.by_address.get(at, ())
        i = bisect_right(self.times_of(at, made), time) - 1
        if i < 0 or made[i].index is None or made[i].freed_time is not None and made[i].freed_time < time:
            return None
        return made[i]

    def times_of(self, at, made):
        times = self.times.get(at)
        if times is None:
            times = self.times[at] = [one.time for one in made]
        return times

    def add(self, time, kind, context, a=-1, b=-1, c=-1, d=-1):
        self.found.append((time, kind, context, a, b, c, d))

    # ---- what is said, by what happened ----

    def collect(self):
        R = self.R
        handlers = {R.USE: self.on_use, R.RELEASE: self.on_release, R.GRADIENT: self.on_gradient,
                    R.RERUN_BEGIN: self.on_rerun_begin, R.RERUN_END: self.on_rerun_end, R.CAST: self.on_cast,
                    R.CLEAR: self.on_clear, R.MARKED: self.on_mark, R.BEGIN: self.on_begin, R.END: self.on_end}
        self.touched = {id(made.context) for made, _ in self.pairs}
        self.accumulating = {id(made.context) for made, _ in self.pairs if made.context.node == "AccumulateGrad"}
        self.touched.update(id(made.freed) for made, _ in self.pairs)
        self.touched.update(id(context) for _, kind, context, made in self.reading.happened
                            if kind == R.USE and self.is_here(made))
        for time, kind, context, what in self.reading.happened:
            handlers[kind](time, context, what)
        for key in list(self.opened):
            self.rest(self.opened[key][0], UNSAVE, key, key[1] == REENTRANT)
        for saved in self.inputs.values():
            self.rest(saved, UNSAVE, (-1, None), 1)
        for made, _ in self.pairs:
            if made.kind == "gradient" and made.context.node == "AccumulateGrad":
                self.gradient(made.time, made.context, made)

    def is_here(self, made):
        return made.index is not None and made.at[0] == self.device

    def node_of(self, context):
        return self.number(context.seq) if context.node is not None and context.op == context.node else 0

    def number(self, seq):
        """Of a node in the trace, 0: none. Those that ran inside of others follow all that did not."""
        if seq < -1:
            return self.last + -1 - seq
        return seq + 1

    def role_of(self, context):
        if context.op == context.node and context.node is not None:
            return BACKWARD
        return RECOMPUTE if context.is_recompute else FORWARD

    def on_begin(self, time, context, _):
        if id(context) not in self.touched:
            return
        node = self.node_of(context)
        self.ops += 1
        if context.unknown is not None:
            self.unknown[context.unknown] = self.unknown.get(context.unknown, 0) + 1
        self.add(time, OP_BEGIN, context, node, self.role_of(context), context.flops, context.overwritten)
        key = (context.seq, context.node)
        if not node:
            return
        for made in self.opened.get(key, ((), False))[0]:
            self.add(time, USE, context, made.index)
        self.take(time, context)

    def take(self, time, context):
        """A node gets what a second run has made for it."""
        for made in self.reruns.pop((context.seq, context.node), ()):
            self.add(time, USE, context, made.index)
            self.add(time, UNSAVE, context, made.index, self.number(context.seq), 0,
                     made.freed is not context)

    def on_end(self, time, context, _):
        if id(context) in self.touched:
            self.add(time, OP_END, context, self.node_of(context), self.role_of(context), context.dispatched,
                     context.flops)

    def on_use(self, time, context, made):
        if not self.is_here(made) or context.op is None or context.op in QUERIES:
            return
        self.add(time, USE, context, made.index)
        if context.node in self.R.HIDING and made.time < self.began:
            saved = self.opened.setdefault((context.seq, context.node), ([], False))[0]
            if made not in saved:
                saved.append(made)
                self.save(context.forward, made, context.seq)

    def on_release(self, time, context, _):
        key = (context.seq, context.node)
        saved, is_kept = self.opened.get(key, ((), True))
        if not is_kept:
            for made in saved:
                self.add(time, UNSAVE, context, made.index, self.number(context.seq), context.node == REENTRANT,
                         made.freed is not context)
            del self.opened[key]

    def on_gradient(self, time, context, made):
        if not self.is_here(made) or made.context is context:
            return
        if made.kind == "gradient":
            self.gradient(time, context, made)
        elif made.kind is None and id(context) not in self.accumulating and (
                made.freed_time is None or made.freed_time > time):
            self.become_gradient(time, context, made, "")  # of what has no name, such as an argument

    def gradient(self, time, context, made):
        names = (made.name,) + made.others
        which = self.gradients.get(id(made), 0)
        self.gradients[id(made)] = which + 1
        if which >= len(names):
            return
        self.become_gradient(time, context, made, names[which].replace(GRADIENT_OF, "", 1))

    def become_gradient(self, time, context, made, of):
        name = self.name(of)
        self.add(time, GRADIENT, context, made.index, name)
        if of and made.freed_time is not None:
            self.add(made.freed_time - 1, UNGRADIENT, made.freed, made.index, name)

    def on_rerun_begin(self, time, context, name):
        self.add(time, RERUN_BEGIN, context, self.name(name))

    def on_rerun_end(self, time, context, name):
        self.add(time, RERUN_END, context, self.name(name))
        if context.node is not None:
            self.take(time, context)

    def on_cast(self, time, context, what):
        copy, original, dtype = what
        if not self.is_here(copy):
            return
        source = original.index if original is not None and self.is_here(original) else -1
        to = copy.tensor[1] if copy.tensor else ""
        self.add(time, CAST, context, copy.index, source, self.name(dtype), self.name(to))
        if original is not None and original.kind == "parameter" and dtype == "float32" and to in HALVES:
            self.cached.append(copy)
            self.add(time, CACHE, context, copy.index)

    def on_clear(self, time, context, _):
        for made in self.cached:
            if made.freed_time is None or made.freed_time >= time:
                self.add(time, UNCACHE, context, made.index)
        self.cached = []

    def on_mark(self, time, context, number):
        row = self.matching.noted[number]
        if not isinstance(row, tuple):
            return
        getattr(self, "on_" + row[0])(time, context, *row[1:])

    def on_oom(self, time, context, device, number):
        """Matching.ooms_seen has it."""

    def on_transform(self, time, context, begins, made):
        """Matching.unlisted has it."""

    def on_graph(self, time, context, is_kept, nodes):
        """A backward begins: what each node of its graph has saved."""
        self.began = time
        for seq, name, addresses, hooked in nodes:
            name = self.R.short(name)
            if context.node is not None:
                seq = self.R.inside(seq)
            key = (seq, name)
            for one in hooked:
                self.hooked[one] = key
            if key in self.opened:
                if not is_kept:
                    self.opened[key] = (self.opened[key][0], False)
                continue
            saved = [made for made in (self.at(at, time) for at in addresses) if made is not None]
            if not saved:
                continue
            self.opened[key] = (saved, is_kept)
            origin = self.reading.origin(seq, name, time)
            for made in saved:
                self.save(origin, made, seq, name == REENTRANT)

    def save(self, origin, made, seq, is_input=False):
        """origin: the op that made the node, or None."""
        if origin is None:
            self.add(made.time, SAVE, made.context, made.index, self.number(seq), is_input)
        else:
            self.add(max(origin.time, made.time), SAVE, origin, made.index, self.number(seq), is_input)

    def on_inputs(self, time, context, number, addresses):
        """A checkpoint keeps what its function was called with."""
        for at in addresses:
            made = self.at(at, time)
            if made is not None:
                self.add(time, SAVE, context, made.index, 0, 1)
                self.inputs.setdefault(number, []).append(made)

    def on_rerun(self, time, context, holder, at):
        """A checkpoint's second run has made a tensor for a node."""
        made = self.at(at, time)
        key = self.hooked.get(holder)
        if made is not None and key is not None:
            self.reruns.setdefault(key, []).append(made)
            self.add(time, SAVE, context, made.index, self.number(key[0]), 0)

    def on_forget(self, time, context, number):
        """A checkpoint is gone, and what it kept of the arguments."""
        for made in self.inputs.pop(number, ()):
            self.add(time, UNSAVE, context, made.index, 0, 1, made.freed is not context)

    def rest(self, saved, kind, key, is_input):
        """What nothing has released goes with its block."""
        for made in saved:
            if made.freed_time is not None:
                self.add(made.freed_time - 1, kind, made.freed, made.index, self.number(key[0]), is_input, 0)

    # ---- as rows ----

    def start(self):
        """The history may have lost its first events: what was before the op of the first that is left is left out."""
        if not self.pairs:
            return 0
        first = min((made for made, _ in self.pairs), key=lambda made: made.index)
        return min(first.time, first.context.time or first.time)

    def name(self, text):
        return self.names.setdefault(text, len(self.names))

    def context(self, context):
        found = self.contexts.get(id(context))
        if found is None:
            op = context if context.order >= 0 else context.forward
            frames = self.matching.frames_of(op) if op is not None else None
            row = (context.op, context.module, context.phase, -1 if frames is None else frames,
                   op is context and op.order in self.matching.frames_by_op)
            found = self.contexts[id(context)] = (len(self.contexts), row)
        return found[0]

    def rows(self):
        self.collect()
        self.found.sort(key=lambda one: one[0])
        ends = []  # (time, number of the event): matched events of the history, in its order
        for made, free in self.pairs:
            ends.append((made.index, made.time))
            if free is not None and made.freed_time is not None:
                ends.append((free, made.freed_time))
        ends.sort()
        rows = array("q")
        i = before = latest = 0
        count = len(ends)
        start = self.start()
        for time, kind, context, a, b, c, d in self.found:
            while i < count and max(latest, ends[i][1]) <= time:
                latest = max(latest, ends[i][1])
                before = ends[i][0] + 1
                i += 1
            if time >= start:
                rows.extend((kind, before, self.context(context), a, b, c, d))
        return tuple(row for _, row in self.contexts.values()), tuple(self.names), rows.tobytes()


class Matching:
    """Adds to the events of a snapshot what was read about them."""

    def __init__(self, module, reading, noted, has_saves, is_to_the_end, ooms, gaps):
        self.module = module  # vramscope_reading
        self.folder = os.path.dirname(__file__) + os.sep
        self.ooms = ooms  # by device: how often memory ran out
        self.gaps = gaps  # vramscope_transforms.Gaps; None: everything was listed
        self.has_saves = has_saves
        self.reading = reading
        self.noted = noted
        self.is_to_the_end = is_to_the_end
        self.shared = {}  # equal facts are one tuple
        self.matched = self.total = 0
        self.frames_by_op = {}  # by the op's order: number of an event that has its stack
        self.contexts_by_op = {}
        self.orders = {}  # by module, and by module and phase: the orders of the ops that have a stack; None: all
        self.between = []  # of each device

    def apply(self, snapshot):
        traces = list(enumerate(snapshot["device_traces"]))
        paired = [self.pairs(device, trace) for device, trace in traces]
        self.convolutions_count()
        ops, unknown = 0, {}
        for (device, trace), pairs in zip(traces, paired):
            for made, _ in pairs:
                self.frames_keep(trace, made)
            self.orders = {None: sorted(self.frames_by_op)}
            for order in self.orders[None]:
                op = self.contexts_by_op[order]
                self.orders.setdefault((op.module, op.phase), []).append(order)
                self.orders.setdefault(op.module or "", []).append(order)
            ooms = [index for index, event in enumerate(trace) if event["action"] == "oom"]
            failed = {}  # by the number of the event of an out of memory: what was allocated last in the op that failed
            for made, free in pairs:
                oom = self.oom_within(ooms, made, free)
                if oom is not None and (oom not in failed or failed[oom].index < made.index):
                    failed[oom] = made
                self.say(trace, made.index, made.context, self.about(made, oom is not None))
                if free is not None and made.freed is not None:
                    self.say(trace, free, made.freed, (None, None, None, (), ()))
            contexts = {oom: made.context for oom, made in failed.items()}
            contexts.update(self.ooms_seen(device, ooms))
            for oom, context in contexts.items():
                self.say(trace, oom, context, (None, None, None, (), ()))
            between = Between(self, device, trace, pairs)
            self.between.append(between.rows())
            ops += between.ops
            for name, count in between.unknown.items():
                unknown[name] = unknown.get(name, 0) + count
        snapshot["between"] = (KINDS, self.has_saves, self.between)
        snapshot["arithmetic"] = (ops, sum(unknown.values()), ", ".join(sorted(unknown)))

    def ooms_seen(self, device, indices):
        """In which contexts memory ran out, by the numbers of these events, which are the last ones of the device."""
        before = self.ooms.get(device, 0) - len(indices)
        out = {}
        for _, kind, context, number in self.reading.happened:
            what = self.noted[number] if kind == self.module.MARKED else ()
            if isinstance(what, tuple) and what[:2] == ("oom", device) and what[2] > before:
                out[indices[what[2] - before - 1]] = context
        return out

    def convolutions_count(self):
        for one in self.reading.convolutions:
            flops = one.flops()
            if flops is None:
                one.context.unknown = "convolution"
            else:
                one.context.flops += flops

    def say(self, trace, index, context, about):
        event = trace[index]
        facts = (context.op, context.module, context.phase or (GRAPH if context.makes_graph else None)) + about
        event["facts"] = self.shared.setdefault(facts, facts)
        if context.forward is not None and not self.has_stack(event):
            at = self.frames_of(context.forward)
            if at is not None:
                event["forward_frames"] = trace[at]["frames"]

    def pairs(self, device, trace):
        """What was read about an allocation, with the number of its event in the history; the number of its free or
        None. Of each address the last ones of both are the same; the first ones, where the profiler was ended early."""
        by_address = {}
        for index, event in enumerate(trace):
            if event["action"] == "alloc":
                by_address.setdefault(event["addr"], []).append([index, None])
            elif event["action"] == "free_requested" and event["addr"] in by_address:
                by_address[event["addr"]][-1][1] = index
        out = []
        unlisted = self.unlisted(device, trace)
        for address, events in by_address.items():
            self.total += len(events)
            made = self.reading.by_address.get((device, address), ())
            if unlisted:
                events = [one for one in events if one[0] not in unlisted]
                made = [one for one in made if not self.gaps.has_time(one.time)]
            count = min(len(events), len(made))
            if self.is_to_the_end:
                events, made = events[len(events) - count:], made[len(made) - count:]
            if all(trace[index]["size"] <= a.size for (index, _), a in zip(events, made)):
                for (index, free), a in zip(events, made):
                    a.index = index
                    a.requested = trace[index]["size"]
                    out.append((a, free))
        self.matched += len(out)
        return out

    def unlisted(self, device, trace):
        """The numbers of the allocations in the history that the profiler did not list."""
        if self.gaps is None:
            return set()
        made = [index for index, event in enumerate(trace) if event["action"] == "alloc"]
        return {index for index, is_listed in zip(made, self.gaps.listed(device, len(made))) if not is_listed}

    def has_stack(self, event):
        """Whether it has functions of the program's or PyTorch's: those of this folder are not shown."""
        return not all(frame["filename"].startswith(self.folder) for frame in event.get("frames") or ())

    def frames_keep(self, trace, made):
        order = made.context.order
        if order >= 0 and order not in self.frames_by_op and self.has_stack(trace[made.index]):
            self.frames_by_op[order] = made.index
            self.contexts_by_op[order] = made.context

    def frames_of(self, op):
        """The event that has the stack of an op; of one that allocated nothing (a view, an op in place), that of the op
        before it in its module and phase, in its module, or of all. None: there is none."""
        found = self.frames_by_op.get(op.order)
        if found is not None:
            return found
        for orders in (self.orders.get((op.module, op.phase), ()), self.orders.get(op.module or "", ()),
                       self.orders[None]):
            at = bisect_right(orders, op.order)
            if at:
                return self.frames_by_op[orders[at - 1]]
        return None

    @staticmethod
    def oom_within(ooms, made, free):
        """The out of memory that ended the op in which this was allocated and freed, by its number; None: none did."""
        if free is None or made.freed is not made.context or made.context.op is None:
            return None
        at = bisect_right(ooms, made.index)
        return ooms[at] if at < len(ooms) and ooms[at] < free else None

    def about(self, made, has_failed):
        _, dtype, sizes, strides = made.tensor or (0, None, (), ())
        kind = made.kind
        if made.tensor is None and made.freed is made.context and made.context.op is not None:
            # no op ever had it as an input, and it did not outlive the one it was allocated in: where that one ran out
            # of memory it may have been a result
            kind = "temporary" if has_failed else "workspace"
        name = made.name
        # what only an optimizer knows gets those of others
        others = [one for one in made.others if self.module.PLACE not in one]
        if others:  # a buffer of gradients
            name = "%s%d parameters, %s to %s" % (GRADIENT_OF, 1 + len(others), name[len(GRADIENT_OF):],
                                                  others[-1][len(GRADIENT_OF):])
        return (kind, name, dtype, sizes, strides)
