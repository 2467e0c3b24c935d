"""tracer/python/vramscope_nodes.py - finds out what autograd's nodes saved, what checkpoints keep and run again, and
when autocast clears its cache.

Just before a backward begins the graph is walked, and each node is asked for the tensors that it saved: nothing is
unpacked, so no hook runs and nothing is recomputed. When they were saved and are released follows from the profiler's
list, which has the op that made the node, and the node itself (vramscope_matching.py).

Nothing here may allocate on the GPU, keep a tensor alive, or change what is saved.
"""
import itertools
import weakref


class Nodes:
    """What is found are rows, marked by vramscope_events.Events and read by vramscope_matching.py:

    ("graph", is it kept after the backward, [(sequence number, name, [address], [number of a checkpoint's holder])])
    ("inputs", number of a checkpoint, [address of an argument])
    ("forget", number of a checkpoint)
    ("rerun", number of the holder for which a second run made a tensor, its address)

    Nothing is found of a thread that is not observed: walking its graphs would keep what it frees.
    """

    def __init__(self, events):
        self.events = events
        self.torch = events.torch
        self.storage = events.names.storage
        self.fields = {}  # by type of a node: the attributes with what it saved
        self.checkpoints = 0
        self.has_lone = False  # whether the last backward has parameters that no module has
        self.holders = weakref.WeakKeyDictionary()  # what a checkpoint puts in place of a tensor, and its number
        self.holder_numbers = itertools.count(1)  # not ids: another object may get the id of one that is gone
        self.watched = []  # classes of which something was replaced
        # until PyTorch 2.10 a saved tensor can only be unpacked, which would run the program's hooks, if it has some
        self.has_data = hasattr(getattr(self.torch._C._autograd, "SavedTensor", None), "data")
        self.is_possible = hasattr(self.torch._C._autograd, "SavedTensor")
        self.impossible = None if self.is_possible else "PyTorch has no list of them"

    # ---- graphs ----

    def graph_note(self, outputs, _, retains):
        if self.events.is_observed():
            for found in self.events.alone(lambda: self.backward_found(outputs, bool(retains))):
                self.events.mark(found)

    def backward_found(self, outputs, retains):
        nodes = self.graph(outputs)
        self.events.faults.graph_runs(nodes.values())
        self.has_lone = False
        named = self.events.names.lone(self.leaves(nodes), is_new=True)
        self.has_lone = bool(named)
        return self.rows(nodes, retains), named

    def gradients(self, outputs):
        """Those of the parameters that no module has, when a backward has ended."""
        return self.events.names.lone(self.leaves(self.graph(outputs)), is_new=False) if self.has_lone else []

    def leaves(self, nodes):
        return (node.variable for node in nodes.values() if type(node).__name__ == "AccumulateGrad")

    def all_note(self):
        """Where memory runs out, and at the end: graphs that no backward has run through, and the shapes of tensors
        that no op has got."""
        if self.events.is_observed():
            found = self.events.alone(self.all_found)
            for one in found:
                self.events.mark(one)

    def all_found(self):
        tensors = self.events.tensors()
        shapes = []
        for tensor in tensors:
            self.events.names.add(shapes, tensor, None, None)
        return shapes, self.rows(self.graph(tensors), True)

    def graph(self, outputs):
        """The nodes below these tensors, by id: PyTorch gives a node the same object while there is one."""
        todo = []
        for output in [outputs] if isinstance(outputs, self.torch.Tensor) else outputs:
            try:
                node = output.grad_fn if isinstance(output, self.torch.Tensor) else output[0]
            except Exception:  # a view of a tensor that was changed in place meanwhile
                continue
            if node is not None:
                todo.append(node)
        seen = {}
        while todo:
            node = todo.pop()
            if id(node) not in seen:
                seen[id(node)] = node
                todo.extend(other for other, _ in node.next_functions if other is not None)
        return seen

    def rows(self, nodes, retains):
        """The row of a graph; None where nothing can be known."""
        if not self.is_possible:
            return None
        rows = (self.row(node) for node in nodes.values())
        return "graph", retains, [row for row in rows if row is not None]

    def saved_below(self, tensors, limit=2000):
        """The tensors of the GPU that the graphs of these tensors keep, one for each memory, but for that of leaves
        which get a gradient: parameters are there without graphs, too."""
        if not self.has_data:
            return []
        todo = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
        seen, found, leaves = {}, {}, set()
        while todo and len(seen) < limit:
            node = todo.pop()
            if id(node) in seen:
                continue
            seen[id(node)] = node
            todo.extend(other for other, _ in node.next_functions if other is not None)
            if hasattr(node, "variable"):
                leaves.add(self.storage(node.variable))
            for field in self.fields_of(node):
                found.update((self.storage(one), one) for one in self.kept(node, field)
                             if isinstance(one, self.torch.Tensor) and self.storage(one))
        return [one for at, one in found.items() if at not in leaves]

    def fields_of(self, node):
        fields = self.fields.get(type(node))
        if fields is None:
            fields = self.fields[type(node)] = [f for f in dir(type(node)) if f.startswith("_raw_saved_")]
        return fields

    def row(self, node):
        fields = self.fields_of(node)
        if not fields:
            return None
        addresses, hooked = [], []
        for field in fields:
            for kept in self.kept(node, field):
                if isinstance(kept, self.torch.Tensor):
                    at = self.storage(kept)
                    if at:
                        addresses.append(at)
                elif isinstance(kept, self.torch.utils.checkpoint._Holder):
                    hooked.append(self.number_of(kept))
        return (node._sequence_nr(), node.name(), addresses, hooked) if addresses or hooked else None

    def kept(self, node, field):
        """The tensors that a field of a node keeps, or what hooks made of them."""
        name = field[len("_raw"):]
        try:
            if self.has_data:
                saved = getattr(node, field)
                return [getattr(one, "data", None) for one in (saved if isinstance(saved, (list, tuple)) else (saved,))]
            saved = getattr(node, name if hasattr(type(node), name) else "saved_tensors")  # of a function in Python
        except RuntimeError:  # released, or overwritten in place: backward would fail, too
            return []
        return saved if isinstance(saved, (list, tuple)) else (saved,)

    def hooks_watch(self):
        """Once the program packs saved tensors by hooks, none can be unpacked without running them."""
        if self.has_data or not self.is_possible:
            return
        autograd, nodes = self.torch._C._autograd, self
        push = autograd._push_saved_tensors_default_hooks

        def _push_saved_tensors_default_hooks(*args):
            nodes.is_possible = False
            nodes.impossible = ("the program packs saved tensors by hooks, and before PyTorch 2.11 they cannot be seen "
                                "without running them")
            return push(*args)

        self.events.patch(autograd, "_push_saved_tensors_default_hooks", _push_saved_tensors_default_hooks)

    def number_of(self, holder):
        number = self.holders.get(holder)
        if number is None:
            number = self.holders[holder] = next(self.holder_numbers)
        return number

    # ---- checkpoints that run inside of hooks ----

    def checkpoints_watch(self):
        from torch.utils import checkpoint

        nodes, attempt = self, self.events.attempt
        hook = checkpoint._recomputation_hook
        first, enter, leave = hook.__init__, hook.__enter__, hook.__exit__
        self.watched = [hook, checkpoint._CheckpointFrame]

        def __init__(self, target_frame_ref, gid):
            first(self, target_frame_ref, gid)
            attempt("checkpoints", lambda: nodes.rerun_watch(self, target_frame_ref, gid))

        def __enter__(self):
            entered = enter(self)
            attempt("checkpoints", lambda: nodes.rerun_begin(self))
            return entered

        def __exit__(self, *args):
            attempt("checkpoints", lambda: nodes.rerun_end(self))
            return leave(self, *args)

        for old, new in (first, __init__), (enter, __enter__), (leave, __exit__):
            self.events.patch(hook, new.__name__, self.events.as_part_of(old, new))
        self.arguments_watch(checkpoint)
        self.reentrant_watch(checkpoint)

    def reentrant_watch(self, checkpoint):
        """The second run of a checkpoint with reentrancy is what its node's backward calls first."""
        nodes, function = self, checkpoint.CheckpointFunction
        first = function.backward
        self.watched.append(function)

        def backward(ctx, *args):
            run = ctx.run_function

            def run_function(*inputs):
                opened = nodes.reentrant_begin(run)
                try:
                    return run(*inputs)
                finally:
                    if opened is not None:
                        nodes.events.range_end(opened)

            ctx.run_function = nodes.events.as_part_of(first, run_function)
            try:
                return first(ctx, *args)
            finally:
                ctx.run_function = run

        self.events.patch(function, "backward", self.events.as_part_of(first, backward))

    def reentrant_begin(self, run):
        try:
            if self.events.is_observed():
                return self.events.range_begin(self.events.reading.RERUN + self.name_of_function(run))
        except Exception as e:
            self.events.trouble("checkpoints", e)
        return None

    def arguments_watch(self, checkpoint):
        """What a function was called with, which its checkpoint keeps: itself, or, until PyTorch 2.14, in a node."""
        nodes, attempt = self, self.events.attempt
        frame, hook = checkpoint._CheckpointFrame, checkpoint._checkpoint_hook
        save, first = getattr(frame, "save_inputs", None), hook.__init__

        def save_inputs(self, *args):
            attempt("checkpoints", lambda: nodes.arguments_note(self, args))
            return save(self, *args)

        def __init__(self, frame):
            first(self, frame)
            attempt("checkpoints", lambda: nodes.node_note(frame))

        if save is not None:
            self.events.patch(frame, "save_inputs", self.events.as_part_of(save, save_inputs))
        else:
            self.watched.append(hook)
            self.events.patch(hook, "__init__", self.events.as_part_of(first, __init__))

    def arguments_note(self, frame, arguments):
        if self.events.is_observed() and self.torch.is_grad_enabled():
            tensors = [value for value in arguments if isinstance(value, self.torch.Tensor)]
            found = self.events.alone(lambda: [self.storage(tensor) for tensor in tensors])
            self.inputs_note(frame, [at for at in found if at])

    def node_note(self, frame):
        if self.events.is_observed() and self.is_possible:
            row = self.events.alone(lambda: self.row(frame.input_saver.grad_fn))
            if row is not None:
                self.inputs_note(frame, row[2])

    def inputs_note(self, frame, addresses):
        self.checkpoints += 1
        self.events.mark(("inputs", self.checkpoints, addresses))
        weakref.finalize(frame, self.inputs_forget, self.checkpoints).atexit = False

    def inputs_forget(self, number):
        if self.events.is_observed():
            self.events.mark(("forget", number))

    def rerun_watch(self, hook, frame_ref, gid):
        """The tensors of a second run are noted as they are packed. A stopped run's exception keeps the frames that it
        passes, so that of pack_hook may hold no tensor."""
        pack = hook.pack_hook

        def pack_hook(x):
            held = [x]
            del x
            self.events.attempt("checkpoints", lambda: self.rerun_note(frame_ref(), gid, held[0]))
            try:
                return pack(held.pop())
            except self.torch.utils.checkpoint._StopRecomputationError:
                self.events.attempt("checkpoints", self.stop_note)
                raise

        pack_hook.__dict__.update(pack.__dict__)
        hook.pack_hook = self.events.as_part_of(self.torch.utils.checkpoint._recomputation_hook.__enter__, pack_hook)
        hook.vramscope_name = self.name_of(frame_ref())

    def stop_note(self):
        """A second run ends in the middle of an op, which has packed the last tensor that is needed."""
        if self.events.is_observed():
            with self.events.P._RecordFunctionFast(self.events.reading.STOPPED):
                pass

    def name_of(self, frame):
        """Of the function that a checkpoint runs again."""
        inner = getattr(frame, "recompute_fn", None)
        free = getattr(getattr(inner, "__code__", None), "co_freevars", ())
        if "fn" in free:
            inner = inner.__closure__[free.index("fn")].cell_contents
        return self.name_of_function(inner)

    def name_of_function(self, function):
        return getattr(function, "__qualname__", None) or type(function).__name__

    def rerun_note(self, frame, gid, x):
        if frame is None or not self.events.is_observed():
            return
        at = self.events.alone(lambda: self.storage(x))
        index = frame.recomp_counter[gid]
        holder = frame.weak_holders[index]() if index < len(frame.weak_holders) else None
        if at and holder is not None:
            self.events.mark(("rerun", self.number_of(holder), at))

    def rerun_begin(self, hook):
        if self.events.is_observed():
            name = self.events.reading.RERUN + getattr(hook, "vramscope_name", "")
            hook.vramscope_range = self.events.range_begin(name)

    def rerun_end(self, hook):
        opened = hook.__dict__.pop("vramscope_range", None)
        if opened is not None:
            self.events.range_end(opened)

    # ---- autocast ----

    def autocast_watch(self):
        """The cache is cleared when the outermost region ends."""
        clear = self.torch.clear_autocast_cache
        events = self.events

        def clear_autocast_cache():
            if events.is_observed():
                with events.P._RecordFunctionFast(events.reading.CACHE):
                    pass
            clear()

        leave = self.torch.autocast.__exit__
        events.patch(self.torch, "clear_autocast_cache", events.as_part_of(leave, clear_autocast_cache))
