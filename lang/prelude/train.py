# lang/prelude/train.py - the built-in training loop.
#
# For:       lang/run/run.c, which calls run() for a recording or a what-if and check_inplace() for an in-place check.
# Invariant: the names in train() are those of the net language page, with the same lifetimes: `output` and `l`
#            of a step live until the next step binds them again. Nothing else here holds a tensor of a step.
import torch
import torch.nn as nn
import torch.nn.functional as F

import _apex as apex
import _context_parallel as context_parallel
import _deepspeed as deepspeed
import _deepspeed_stage3 as stage3
import _distributed as distributed
import _formula as formula
import _fsdp as fsdp
import _pipeline as pipeline
import _tensor_parallel as tensor_parallel
import _toggles as toggles


# ---- the batch ----


def to_device(value):
    if isinstance(value, torch.Tensor):
        moved = value.to("cuda")
        torch._set_category(moved, "input")
        return moved
    if isinstance(value, tuple):
        return tuple([to_device(v) for v in value])
    if isinstance(value, list):
        return [to_device(v) for v in value]
    if isinstance(value, dict):
        return {k: to_device(v) for k, v in value.items()}
    return value


def cast(value, dtype):
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, tuple):
        return tuple([cast(v, dtype) for v in value])
    if isinstance(value, list):
        return [cast(v, dtype) for v in value]
    if isinstance(value, dict):
        return {k: cast(v, dtype) for k, v in value.items()}
    return value


def host_batch(net, count, settings):
    if settings["formula"]:
        settings["random"] = 1000001
    ranks = torch._rank_count()
    pair = net.batch(count * ranks if ranks > 0 else count)
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError("batch(n) must return a pair: inputs and targets")
    if ranks > 1:
        pair = _part_of(pair, torch._rank(), ranks)
    if settings["half"] == "on":
        return cast(pair, torch.float16)
    if deepspeed.is_chosen(settings) and settings["mp-policy"] != "off":
        return cast(pair, deepspeed.dtype_of(settings))
    return pair


def _part_of(value, rank, ranks):
    # what the process `rank` gets of a batch that all of them make alike
    if isinstance(value, torch.Tensor):
        rows = value.shape[0] // ranks
        return value[rank * rows:(rank + 1) * rows]
    if isinstance(value, tuple):
        return tuple([_part_of(v, rank, ranks) for v in value])
    if isinstance(value, list):
        return [_part_of(v, rank, ranks) for v in value]
    if isinstance(value, dict):
        return {k: _part_of(v, rank, ranks) for k, v in value.items()}
    return value


class Prefetcher:
    # The loop of docs/guide/net-language.md ("prefetch"): `depth` further batches are on the device, and the next one
    # is loaded before the oldest is returned. The caller's old batch is freed when its names are bound again, so for
    # that time there is one more.
    def __init__(self, load, depth):
        self.load = load
        self.batches = []
        for i in range(depth):
            self.batches.append(load())

    def next(self):
        inputs, targets = self.batches.pop(0)
        self.batches.append(self.load())
        return inputs, targets


def make_next(source, settings):
    # a function that returns the next batch, on the device
    accumulate = settings["accumulate"]
    count = settings["batch"] // accumulate
    if count * accumulate != settings["batch"]:
        torch._warn_of("uneven_parts", f"batch={settings['batch']} does not divide into {accumulate} equal parts: each "
                       f"step trains on {count * accumulate} samples, not on {settings['batch']}")

    def load():
        pair = host_batch(source, count, settings)
        return to_device(pipeline.part_of(pair, settings) if settings["shard"] == "pp" else pair)

    if settings["prefetch"] == "off" or settings["data"] == "once":
        return load
    return Prefetcher(load, int(settings["prefetch"])).next


# ---- the model ----


def make_model(net, settings):
    if settings["formula"]:
        settings["random"] = 2000001
        formula.use(settings)
    model = net.model()
    if not isinstance(model, nn.Module):
        raise ValueError("model() must return an nn.Module")
    if settings["formula"]:
        formula.fill(model)
    return model


def make_prepared(net, settings):
    model = make_model(net, settings)
    if settings["half"] == "on":
        model.half()
    toggles.lower(model, settings)
    toggles.freeze(model, settings["freeze"])
    return model


def move(model, settings):
    for part, of_part in pipeline.parts_of(model, settings):
        torch._name_modules(part)
        for name, p in part.named_parameters():
            torch._set_name(p, name)
        for name, b in part.named_buffers():
            torch._set_name(b, name)
    model.to("cuda")
    for p in model.parameters():
        torch._set_category(p, "parameter")
    for b in model.buffers():
        torch._set_category(b, "buffer")


def default_loss(net):
    return net.loss if hasattr(net, "loss") else F.cross_entropy


def stage_shapes(net, settings):
    # what stages of a pipeline get and give for a microbatch, on a device of its own: that of pipeline.shapes_of()
    model = make_prepared(net, settings)
    if settings["grad"] != "train":
        model.eval()
    model.to("cuda")
    inputs = net.batch(settings["batch"] // settings["accumulate"] // settings["microbatches"])[0]
    inputs = to_device(cast(inputs, torch.float16) if settings["half"] == "on" else inputs)
    with torch.set_grad_enabled(settings["grad"] != "no_grad"), autocast(settings):
        return pipeline.shapes_of(model, settings, inputs)


# ---- the loop ----


def finish(model, settings):
    # called with the names of the last step still bound: what is released from now on is not recorded
    if settings["dump"]:
        for name, p in model.named_parameters():
            torch._dump("parameter", name, p, 1.0)
        for name, b in model.named_buffers():
            torch._dump("buffer", name, b, 1.0)
    torch._done()
    toggles.note_unused_chunks(settings)
    if settings["grad"] == "train":
        warn_of_no_gradient(model)


def set_up(net, settings):
    torch._step(-1)
    torch._phase("setup")
    model = make_prepared(net, settings)
    if settings["shard"] == "pp":
        pipeline.check(net, settings)
        model = pipeline.keep(model, settings, lambda: make_prepared(net, settings))
    torch._note_parameters(sum([p.numel() for p in model.parameters()]))
    if settings["shard"] == "fsdp":
        torch._name_modules(model)
        return model, None
    if deepspeed.is_chosen(settings):
        deepspeed.check(net, settings)
        deepspeed.cast_parameters(model, settings)
    if settings["shard"] == "tp":
        tensor_parallel.check(net, settings)
    move(model, settings)
    if settings["shard"] == "tp":
        tensor_parallel.parallelize(model, settings)
    # a net with an optimizer() gets it later, when the model is in its final state
    if not hasattr(net, "optimizer") and settings["grad"] == "train":
        return model, toggles.make_optimizer(model, settings)
    return model, None


def prepare(model, settings):
    paths = []
    for part, of_part in pipeline.parts_of(model, settings):
        of_part["inplace_paths"] = toggles.decide_inplace(part, of_part["inplace"])
        paths = paths + of_part["inplace_paths"]
    settings["inplace_paths"] = paths
    torch._note_inplace(paths)
    for part, of_part in pipeline.parts_of(model, settings):
        toggles.prepare(part, of_part)


def run(net, settings):
    own_step = hasattr(net, "train_step") and settings["grad"] == "train"
    if own_step and torch._rank_count() > 0:
        raise ValueError("a net with its own train_step cannot be trained by several processes; leave out train_step")
    if own_step:
        report_parts(settings)
        refuse_accumulate(settings)
    model, optimizer = set_up(net, settings)
    settings["model"] = model if settings["dump"] else None
    prepare(model, settings)
    plain = model
    if settings["shard"] == "fsdp":
        fsdp.check(net, settings)
        context_parallel.check(plain, settings)
        settings["fsdp"] = fsdp.fully_shard(plain, toggles.units_of(plain, settings["shard-units"]), settings)
        if settings["grad"] == "train":
            optimizer = toggles.make_optimizer(plain, settings)
    elif deepspeed.is_chosen(settings):
        model, optimizer = stage3.initialize(plain, optimizer, settings)
    elif settings["shard"] in ("ddp", "zero1"):
        distributed.check(net, settings)
        model = distributed.DistributedDataParallel(plain, settings["world"])
        if settings["shard"] == "zero1" and optimizer is not None:
            optimizer = toggles.make_sharded_optimizer(plain, settings)
    if hasattr(net, "optimizer"):
        refuse_optimizer(settings)
        optimizer = net.optimizer(plain)
        note_state(optimizer)
        if own_step:
            report_made(optimizer, settings)
    initialize_apex(plain, optimizer, settings, own_step)
    scaler = torch.amp.GradScaler("cuda") if settings["amp"] == "fp16" else torch.amp._NoScaler()
    scaler._shards = settings["fsdp"].shards if settings["shard"] == "fsdp" else 1
    if settings["grad"] == "train":
        parts = settings["accumulate"] * (settings["microbatches"] if settings["shard"] == "pp" else 1)
        count = settings["batch"] // parts
        warn_of_batch_norm(plain, parts, f"the {count} samples of a part, not from the {count * parts} of the step")
    if settings["shard"] == "pp":
        schedule = pipeline.Schedule(settings, default_loss(net), lambda: autocast(settings), end)
        pipeline.train(schedule, model, optimizer, settings, make_next(net, settings), end, finish)
    elif own_step:
        train_by_step(net, model, net.train_step, optimizer, scaler, settings)
    else:
        train(net, model, default_loss(net), optimizer, scaler, settings)


def initialize_apex(model, optimizer, settings, own_step):
    # settings["apex"]: Apex's amp; None without it
    level = settings["amp"]
    settings["apex"] = None
    if not apex.is_level(level):
        return
    if own_step:
        raise ValueError(f"amp={level}: the net's own train_step would have to call Apex's amp.scale_loss(), which is "
                         "not part of the net language; use amp=fp16, with the scaler that train_step gets")
    if settings["shard"] != "off":
        raise ValueError(f"amp={level}: Apex together with shard={settings['shard']} is not modelled; use amp=fp16")
    if level == "O0":  # Apex changes nothing then
        return
    settings["apex"] = apex.Amp(level, model, optimizer if settings["grad"] == "train" else None)
    if level == "O2" and settings["zero-grad"] == "none" and settings["grad"] == "train":
        torch._note_refused("zero-grad", "none", "Apex's zero_grad() at level O2 writes zeros")


def refuse_optimizer(settings):
    why = "the net makes its optimizer itself, in optimizer(model)"
    if settings["optimizer"] != "sgd":
        torch._note_refused("optimizer", settings["optimizer"], why)
    if settings["foreach"] == "off":
        torch._note_refused("foreach", "off", why)


# ---- warnings ----


def warn_of_batch_norm(model, parts, samples):
    # samples: from which of them statistics are taken, and from which they are not, in words
    if parts < 2:
        return
    names = [name for name, m in model.named_modules()
             if isinstance(m, nn._BatchNorm) and m.training and m.track_running_stats]
    if len(names) > 0:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        torch._warn_of("accumulate_batch_norm", f"BatchNorm ({names[0]}{more}) takes its statistics from {samples}")


def warn_of_no_gradient(model):
    # called after the last step. Where no parameter had a gradient nothing was trained at all, which says itself.
    names = []
    elements = 0
    reached = 0
    for name, p in model.named_parameters():
        if torch._had_grad(p):
            reached += 1
        elif p.requires_grad:
            layer = ".".join(name.split(".")[:-1]) or name
            if layer not in names:
                names.append(layer)
            elements += p.numel()
    if reached > 0 and len(names) > 0:
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        torch._warn_of("no_gradient", f"no gradient reached {', '.join(names[:3])}{more} in any step: {elements:,} "
                       f"elements of parameters require grad and are not trained")


def autocast(settings):
    if settings["amp"] in ("off", "O0", "O2", "O3"):
        return torch.autocast("cuda", enabled=False)
    return torch.autocast("cuda", dtype=torch.bfloat16 if settings["amp"] == "bf16" else torch.float16)


def sync_gradients(model, settings, is_last):
    if settings["grad-sync"] == "always":
        return
    if settings["shard"] == "fsdp":
        settings["fsdp"].reduces = is_last
    elif settings["shard"] in ("ddp", "zero1"):
        model.syncs_gradients = is_last


def note_reduced(model, settings):
    if settings["shard"] in ("ddp", "zero1"):
        model.note_reduced()


def end(phase, micro, settings, last=False):
    if settings["empty-cache"] == "phase" or last and settings["empty-cache"] == "step":
        torch.cuda.empty_cache()
    torch._mark(phase, micro)


def train(source, net, loss, optimizer, scaler, settings):
    steps = settings["steps"]
    accumulate = settings["accumulate"]
    once = settings["data"] == "once"
    grad = settings["grad"]
    drop_outputs = settings["drop-outputs"]
    detach_loss = settings["detach-loss"] == "on"
    is_deepspeed = deepspeed.is_chosen(settings)
    is_split = settings["shard"] == "fsdp" and settings["cp"] > 1
    epoch_loss = 0.0
    next_batch = make_next(source, settings)
    if once:
        inputs, targets = next_batch()
    end("setup", 0, settings)
    for step in range(steps):
        torch._step(step)
        for micro in range(accumulate):
            sync_gradients(net, settings, micro == accumulate - 1)
            torch._phase("data")
            if not once:
                inputs, targets = next_batch()
            end("data", micro, settings)
            torch._phase("forward")
            sequence = context_parallel.enter(net, inputs, targets, settings) if is_split else None
            with torch.set_grad_enabled(grad != "no_grad"), autocast(settings):
                output = net(inputs)
                end("forward", micro, settings)
                torch._phase("loss")
                if accumulate > 1 and not is_deepspeed:
                    l = loss(output, targets) / accumulate
                else:
                    l = loss(output, targets)
            if drop_outputs == "early":
                del output
            torch._note_loss(l)
            if step == steps - 1 and micro == accumulate - 1:
                torch._note_saved()
            if grad != "train":
                if not detach_loss:
                    epoch_loss += l
                if drop_outputs == "on":
                    del output, l
                elif drop_outputs == "early":
                    del l
                if is_split:
                    context_parallel.leave(sequence, settings)
                end("loss", micro, settings, micro == accumulate - 1)
                continue
            end("loss", micro, settings)
            torch._phase("backward")
            if is_deepspeed:
                net.backward(l, micro == accumulate - 1)
            elif settings["apex"] is None:
                scaler.scale(l).backward()
            else:
                with settings["apex"].scale_loss(l) as scaled_loss:
                    scaled_loss.backward()
                if drop_outputs != "off":
                    del scaled_loss
            if not detach_loss:
                epoch_loss += l
            if drop_outputs == "on":
                del output, l
            elif drop_outputs == "early":
                del l
            if is_split:
                context_parallel.leave(sequence, settings)
            end("backward", micro, settings)
            note_reduced(net, settings)
        if grad == "train":
            torch._phase("optimizer")
            if settings["dump"]:
                dump_gradients(net, scaler.get_scale(), step)
            scaler.step(optimizer)
            scaler.update()
            if hasattr(source, "optimizer"):
                torch._note_state(optimizer)
            end("optimizer", 0, settings)
            torch._phase("zero_grad")
            optimizer.zero_grad(set_to_none=settings["zero-grad"] == "none")
            end("zero_grad", 0, settings, True)
    finish(net, settings)


# ---- a step of the net's own ----


def train_by_step(source, net, train_step, optimizer, scaler, settings):
    # The step is train_step and nothing else: the loop makes the batch, calls it and binds what it returns. The phases
    # follow from what it does (lang/run/own_step.h).
    detach_loss = settings["detach-loss"] == "on"
    drop_outputs = settings["drop-outputs"] != "off"
    once = settings["data"] == "once"
    epoch_loss = 0.0
    next_batch = make_next(source, settings)
    if once:
        inputs, targets = next_batch()
    end("setup", 0, settings)
    for step in range(settings["steps"]):
        torch._step(step)
        torch._phase("data")
        if not once:
            inputs, targets = next_batch()
        settings["step"] = step
        torch._own_step_begin(inputs if isinstance(optimizer, (tuple, list)) else None)
        l = train_step(net, optimizer, scaler, inputs, targets)
        torch._own_step_end()
        note_reduced(net, settings)
        torch._note_loss(l)
        dump_new_gradients(net, settings)
        if not detach_loss and l is not None:
            epoch_loss += l
        if step == 0 and l is None:
            refuse_loss(settings)
        if drop_outputs:
            del l
        if hasattr(source, "optimizer"):
            note_state(optimizer)
        if settings["empty-cache"] == "step":
            torch.cuda.empty_cache()
        torch._own_step_close()
    torch._own_step_refuse()
    finish(net, settings)
    parts = torch._own_step_parts()
    warn_of_batch_norm(net, parts, f"each of the {parts} parts that train_step accumulates, not from all of them")


def refuse_loss(settings):
    if settings["drop-outputs"] != "off":
        torch._note_refused("drop-outputs", settings["drop-outputs"],
                            "train_step returns no loss, and its own variables end with it")
    if settings["detach-loss"] == "off":
        torch._note_refused("detach-loss", "off", "train_step returns no loss that the loop could add up")


def refuse_accumulate(settings):
    if settings["accumulate"] > 1:
        torch._note_refused("accumulate", str(settings["accumulate"]),
                            "train_step is the whole step and gets the whole batch; split the batch there")
        settings["accumulate"] = 1
    if settings["grad-sync"] != "always" and settings["shard"] != "off":
        torch._note_refused("grad-sync", settings["grad-sync"], "train_step is the whole step; call no_sync() there")


def note_state(optimizer):
    for o in optimizer if isinstance(optimizer, (tuple, list)) else [optimizer]:
        torch._note_state(o)


def report_parts(settings):
    # From now on step() and zero_grad() of the optimizers that are made report that they run. As in PyTorch, where an
    # optimizer's constructor wraps step() of its class, classes of the net file are included.
    Optimizer = torch.optim.Optimizer
    init = Optimizer.__init__
    zero_grad = Optimizer.zero_grad

    def reporting_init(self, params, defaults):
        report_class(type(self), settings)
        init(self, params, defaults)

    def zero_grad_by_default(self, set_to_none=None):
        zero_grad(self, torch._sets_to_none() if set_to_none is None else set_to_none)

    Optimizer.__init__ = reporting_init
    Optimizer.zero_grad = zero_grad_by_default


def report_made(optimizer, settings):
    # what the net's optimizer() returns need not be derived from torch.optim.Optimizer
    for o in optimizer if isinstance(optimizer, (tuple, list)) else [optimizer]:
        if torch._is_instance(o):
            report_class(type(o), settings)


def report_class(cls, settings):
    if cls not in settings["reported"]:
        settings["reported"][cls] = True
        cls.step = as_part(cls.step, "optimizer", settings)
        cls.zero_grad = as_part(cls.zero_grad, "zero_grad", settings)


def as_part(function, part, settings):
    def call(self, *args, **kwargs):
        dump_new_gradients(settings["model"], settings)
        is_part = torch._part_begin(part)
        result = function(self, *args, **kwargs)
        torch._part_end(is_part)
        return result

    return call


# ---- in-place checks ----


def watched(plain, number):
    # the old names of an overwritten tensor must not be read again: they would give another value
    def forward(input):
        before = torch._version_of(input)
        torch._watch(input)
        torch._writer(number)
        result = plain(input)
        torch._writer(0)
        return result if torch._version_of(input) == before else torch._overwritten(result)

    return forward


def check_inplace(net, settings, paths):
    # a forward, loss and backward in float32, without autocast
    settings["half"] = "off"
    model = make_model(net, settings)
    model.train()
    toggles.wrap_checkpoint(model, settings)
    toggles.set_inplace(model, paths)
    for i, m in enumerate(toggles.modules_at(model, paths, "inplace")):
        m.forward = watched(m.forward, i + 1)
    model.to("cuda")
    inputs, targets = to_device(net.batch(2))
    output = model(inputs)
    l = default_loss(net)(output, targets)
    l.backward()


# ---- reproducible values, for tests: see tests/oracle/README.md ----


def dump_new_gradients(model, settings):
    # in a step of the net's own: those that backward() has left since the last call
    if settings["dump"] and torch._new_gradients():
        dump_gradients(model, 1.0, settings["step"])


def dump_gradients(model, scale, step):
    for name, p in model.named_parameters():
        if p.grad is not None:
            torch._dump("gradient" if step == 0 else "gradient " + str(step), name, p.grad, scale)
