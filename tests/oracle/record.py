"""tests/oracle/record.py - one case on CUDA (a GPU, or the stand-in): events, phases, peaks, saved tensors."""
import contextlib
import copy
import weakref

import torch
from torch.distributed.pipelining.microbatch import split_args_kwargs_into_chunks
from torch.utils import checkpoint as ckpt

import distributed
import events as ev
import loop
import nogpu
import toggles as tg
from allocator import Allocator
from netfile import no_initialisation, to_device

HISTORY = 20_000_000


class Marks:
    """Where each phase ended, as a number of events, and the allocator's own counters there."""

    def __init__(self):
        self.rows = []
        self.now = -1
        self.base = self.count()

    @staticmethod
    def count():
        s = torch.cuda.memory_stats()
        return s.get("allocation.all.allocated", 0) + s.get("allocation.all.freed", 0)

    def phase(self, name):
        s = torch.cuda.memory_stats()
        counters = {k: s.get(v, 0) for k, v in (
            ("allocated_end", "allocated_bytes.all.current"),
            ("allocated_peak", "allocated_bytes.all.peak"),
            ("requested_end", "requested_bytes.all.current"),
            ("requested_peak", "requested_bytes.all.peak"),
            ("reserved_end", "reserved_bytes.all.current"),
            ("reserved_peak", "reserved_bytes.all.peak"))}
        self.rows.append((self.now, name, self.count() - self.base, counters))
        torch.cuda.reset_peak_memory_stats()

    def step(self, index):
        self.now = index

    def loss(self, value):
        pass

    def batch(self, batch):
        pass

    def loss_ended(self, before_backward):
        pass

    def finish(self):
        pass


class Saved:
    """Counts the distinct storages autograd holds after a loss."""

    def __init__(self, model):
        self.entries = []
        self.own = {key(t) for t in list(model.parameters()) + list(model.buffers())}
        self.batch = set()

    def pack(self, tensor):
        held = Held(tensor.detach())  # an output of the node would hold the node, and so itself
        if tensor.device.type == "cuda" and tensor.untyped_storage().nbytes() > 0:
            self.entries.append((weakref.ref(held), key(tensor)))
        return held

    @contextlib.contextmanager
    def with_cached(self):
        """Counts what selective checkpoints keep, too: hooks are not called for it."""
        wrapper = getattr(ckpt, "_VersionWrapper", None)
        if wrapper is None:
            yield
            return
        plain = wrapper.__init__

        def init(wrapped, val, *args, **kwargs):
            plain(wrapped, val, *args, **kwargs)
            if isinstance(val, torch.Tensor) and val.device.type == "cuda" and val.untyped_storage().nbytes() > 0:
                self.entries.append((weakref.ref(wrapped), key(val)))

        wrapper.__init__ = init
        try:
            yield
        finally:
            wrapper.__init__ = plain

    @staticmethod
    def unpack(held):
        return held.tensor

    def report(self):
        found = {k for alive, k in self.entries if alive() is not None}
        mine = [k for k in found if k not in self.own and k not in self.batch]
        return {"tensors": len(mine), "bytes": sum(k[1] for k in mine),
                "bytes_all": sum(k[1] for k in found)}


class Held:
    def __init__(self, tensor):
        self.tensor = tensor


def key(tensor):
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors_of(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from tensors_of(v)


def measure_saved(net, model, optimizer, scaler, toggles):
    """One more forward and loss with hooks on every saved tensor; all steps where the net has a step of its own."""
    counter = Saved(model)
    at_loss = AtLoss(counter)
    with torch.autograd.graph.saved_tensors_hooks(counter.pack, counter.unpack), counter.with_cached():
        if loop.has_own_step(net, toggles):
            loop.train_by_step(net, model, optimizer, scaler, toggles, "cuda", at_loss)
            return at_loss.found or counter.report()
        inputs, targets = to_device(loop.host_batch(net, toggles), "cuda")
        at_loss.batch((inputs, targets))
        with torch.set_grad_enabled(toggles["grad"] != "no_grad"), \
                loop.autocast(toggles, "cuda"):
            output = model(inputs)
            kept = net.loss(output, targets)
            if toggles["accumulate"] > 1:
                kept = kept / toggles["accumulate"]
    return counter.report()


class AtLoss(Marks):
    """Counts where the last backward() begins, or at the end of the last loss if there is none."""

    def __init__(self, counter):
        self.counter, self.found, self.is_exact = counter, None, False

    def phase(self, name):
        pass

    def batch(self, batch):
        self.counter.batch = {key(t) for t in tensors_of(batch)}

    def loss_ended(self, before_backward):
        if before_backward or not self.is_exact:
            self.found, self.is_exact = self.counter.report(), before_backward


def make_pipeline(net, toggles, decided):
    """The same of the stages of one process; each is made of a model of its own."""
    parts, notes = [], {}
    for stage in distributed.stages_of(toggles):
        with no_initialisation():
            model = net.model()
        tg.freeze(model, toggles["freeze"])
        of_stage, decided_of = distributed.keep(model, dict(toggles, freeze=""), decided, stage)
        notes.update(tg.prepare(model, of_stage, decided_of))
        parts.append(model)
    for part in parts:
        part.to("cuda")
    model = distributed.Pipeline(parts, net, toggles, toggles["shapes"], lambda: loop.autocast(toggles, "cuda"))
    optimizer = tg.make_optimizer(model, toggles) if toggles["grad"] == "train" else None
    return model, optimizer, loop.make_scaler(toggles, "cuda"), notes


def make(net, toggles, decided):
    """Model, optimizer and scaler of a case, the model on the device."""
    torch.manual_seed(0)
    if toggles["shard"] == "pp":
        return make_pipeline(net, toggles, decided)
    # Where values are real they must be sane: a GradScaler looks at them.
    with no_initialisation() if nogpu.active() else contextlib.nullcontext():
        model = net.model()
    notes = tg.prepare(model, toggles, decided)
    plain = model
    if toggles["shard"] == "fsdp":
        model = distributed.fully_shard(model, toggles)
    elif toggles["shard"] in distributed.DEEPSPEED:
        if toggles["grad"] != "train" or net.optimizer is not None:
            raise tg.Refused("DeepSpeed's ZeRO wraps an optimizer, which the toggle `optimizer` makes")
        engine = distributed.deepspeed(model, tg.make_optimizer(model, toggles), toggles)
        return engine, engine, loop.Identity(), notes
    else:
        model.to("cuda")
    if toggles["shard"] == "tp":
        distributed.tensor_parallel(model, toggles)
    if toggles["shard"] in ("ddp", "zero1"):
        if toggles["shard"] == "zero1" and net.optimizer is not None:
            raise tg.Refused("the net makes its optimizer itself")
        model = distributed.wrap(plain, toggles)
    if net.optimizer is not None:
        optimizer = net.optimizer(plain)
    elif toggles["grad"] == "train":
        optimizer = tg.make_optimizer(plain, toggles)
    else:
        optimizer = None
    return model, optimizer, loop.make_scaler(toggles, "cuda"), notes


def stage_shapes(net, toggles):
    """What each stage of a process of a pipeline gets and gives for a microbatch, from running the ones before it:
    [inputs, outputs], of each tensor its size, strides, dtype, whether it requires grad."""
    with no_initialisation():
        model = net.model()
    tg.freeze(model, toggles["freeze"])
    if toggles["half"] == "on":
        model.half()
    model.to("cuda")
    if toggles["grad"] != "train":
        model.eval()
    rows, mine = [], list(distributed.stages_of(toggles))
    inputs = to_device(loop.host_batch(net, toggles), "cuda")[0]
    args = split_args_kwargs_into_chunks((inputs,), {}, toggles["microbatches"])[0][0]
    for stage in range(max(mine) + 1):
        part = copy.deepcopy(model)
        distributed.cut(part, toggles, stage)
        with torch.set_grad_enabled(toggles["grad"] != "no_grad"), loop.autocast(toggles, "cuda"):
            output = part(*args)
        output = output if isinstance(output, tuple) else (output,)
        if stage in mine:
            rows.append([[[list(t.shape), list(t.stride()), str(t.dtype)[6:], t.requires_grad]
                          for t in tensors_of(side)] for side in (args, output)])
        args = output
    return rows


def run(net, toggles, decided=None, keep_scratch=False):
    """The report of one case, with the event list under "event_list"."""
    torch.cuda.init()
    torch.cuda.memory._record_memory_history("all", context="all", stacks="all",
                                             max_entries=HISTORY)
    marks = Marks()
    model, optimizer, scaler, notes = make(net, toggles, decided)
    with distributed.loss_context(toggles):
        loop.train(net, model, optimizer, scaler, toggles, "cuda", marks)
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(None)
    events = ev.read(trace)[:marks.rows[-1][2]]
    report = figures(events, marks.rows, keep_scratch)
    report["counters"] = [[step, phase] + list(counters.values())
                          for step, phase, end, counters in marks.rows]
    report["parameters"] = sum(getattr(p, "ds_numel", p.numel()) for p in model.parameters())
    report["applied"] = notes
    report["collectives"] = nogpu.collectives()
    # parameters of others are other storages at every use, or parts
    if toggles["shard"] not in ("fsdp", "tp", "pp", "deepspeed-zero3"):
        report["saved"] = measure_saved(net, model, optimizer, scaler, toggles)
    return report


def place(events, rows):
    """Gives every event the step and phase it fell into."""
    at = 0
    for step, phase, end, counters in rows:
        for event in events[at:end]:
            event.step, event.phase = step, phase
        at = end


def figures(events, rows, keep_scratch):
    """Phase ends and peaks, from a replay of the events through the allocator's rules."""
    place(events, rows)
    everything = replay(events, rows)
    matches = all(ours[k] == counters[k] for ours, (step, phase, end, counters)
                  in zip(everything["rows"], rows) for k in counters)
    scratch = [e.bytes for e in events if e.scratch and e.kind == "alloc"]
    result = everything
    if not keep_scratch:
        rows = ends_without_scratch(events, rows)
        events = ev.without_scratch(events)
        result = replay(events, rows)
    return {
        "peak": result["peak"], "steps": by_step(result["rows"], rows),
        "stats": by_step([dict(counters, phase=phase) for step, phase, end, counters in rows], rows),
        "events": len(events), "event_list": events, "allocator_matches": matches,
        "scratch": {"allocations": len(scratch), "largest": max(scratch, default=0)},
    }


def ends_without_scratch(events, rows):
    """The same phases, their ends counted in events of tensors."""
    out, at, tensors = [], 0, 0
    for step, phase, end, counters in rows:
        tensors += sum(1 for e in events[at:end] if not e.scratch)
        at = end
        out.append((step, phase, tensors, counters))
    return out


def replay(events, rows):
    """Runs the allocator's rules over the events; one dict per phase row, and the peak."""
    memory = Allocator()
    blocks, requested = {}, 0
    out, at = [], 0
    peak = {"allocated": -1, "requested": 0, "reserved": 0}
    for step, phase, end, counters in rows:
        high = [memory.allocated, requested, memory.reserved]
        while at < end:
            e = events[at]
            if e.kind == "alloc":
                blocks[e.id] = memory.malloc(e.bytes)
                requested += e.bytes
                high = [max(high[0], memory.allocated), max(high[1], requested),
                        max(high[2], memory.reserved)]
                peak["requested"] = max(peak["requested"], requested)
                if memory.allocated > peak["allocated"]:
                    peak.update(allocated=memory.allocated, event=at, step=step, phase=phase,
                                op=e.op)
            else:
                memory.free(blocks.pop(e.id))
                requested -= e.bytes
            at += 1
        out.append({"phase": phase, "allocated_end": memory.allocated, "allocated_peak": high[0],
                    "requested_end": requested, "requested_peak": high[1],
                    "reserved_end": memory.reserved, "reserved_peak": high[2]})
    peak["reserved"] = memory.reserved
    return {"rows": out, "peak": peak}


def by_step(phases, rows):
    """Rows grouped by step; with several micro-steps a phase is its last end, highest peak."""
    steps = {}
    for row, (step, phase, end, counters) in zip(phases, rows):
        seen = steps.setdefault(step, {})
        old = seen.get(phase)
        new = dict(row)
        if old is not None:
            for k in ("allocated_peak", "requested_peak", "reserved_peak"):
                new[k] = max(new[k], old[k])
        seen[phase] = new
    return [{"step": step, "phases": list(found.values())} for step, found in steps.items()]
