# lang/prelude/pipeline.py - shard=pp: what it refuses, how a net is cut into stages, and the training loop around a
# schedule.
#
# For:       train.py; docs/internals/pipeline-parallel.md.
# Invariant: the modules of a stage are those of the net; what is not in the stage is None there, or left out of its
#            list.
import torch
import torch.nn as nn

import _pipeline_schedules as schedules


def check(net, settings):
    # refuse what is not known to be equal to PyTorch's, before anything is on the device
    if int(settings["rank"]) >= settings["world"]:
        raise ValueError(f"rank={settings['rank']}: the ranks of world={settings['world']}, the processes of the "
                         f"pipeline, are 0 to {settings['world'] - 1}")
    if settings["world"] == 1:
        raise ValueError("world=1: with shard=pp a pipeline has at least two stages; set world=2 or more")
    if torch._rank_count() > 0:
        raise ValueError("shard=pp: several processes cannot train with it; use shard=fsdp or shard=ddp")
    if hasattr(net, "optimizer") or hasattr(net, "train_step") and settings["grad"] == "train":
        raise ValueError("shard=pp: a net with its own optimizer() or train_step is not supported; leave them out")
    if settings["pp-schedule"] == "1f1b" and settings["microbatches"] < settings["world"]:
        raise ValueError(f"microbatches={settings['microbatches']}: Number of microbatches must be greater than or "
                         f"equal to the number of stages, world={settings['world']}, with pp-schedule=1f1b")
    rounds = max(1, settings["microbatches"] // settings["world"])
    if settings["pp-schedule"] == "interleaved1f1b" and settings["microbatches"] % rounds != 0:
        raise ValueError(f"microbatches={settings['microbatches']}: Interleaved 1F1B requires the number of "
                         f"microbatches to be a multiple of the number of rounds ({rounds}), which is that of "
                         f"microbatches for each of the world={settings['world']} processes")
    part = settings["batch"] // settings["accumulate"]
    if part % settings["microbatches"] != 0:
        of = f"batch={settings['batch']}" + (f" in accumulate={settings['accumulate']} parts" if
                                             settings["accumulate"] > 1 else "")
        raise ValueError(f"{of} does not divide into microbatches={settings['microbatches']} equal parts, and stages "
                         "receive tensors of one shape")
    if settings["amp"] == "fp16" and settings["grad"] == "train":
        raise ValueError("amp=fp16: a GradScaler scales in the last stage alone: GradScaler.step() of the others fails "
                         "(`Attempted step but _scale is None`), and no stage learns of the infinities of another; use "
                         "amp=bf16")
    for name, value in (("fuse", "off"), ("quantize", "off"), ("detach-loss", "on"), ("chunk-loss", "off")):
        if settings[name] != value:
            raise ValueError(f"{name}={settings[name]}: together with shard=pp it is not supported yet")
    if settings["checkpoint"] == "auto" or settings["checkpoint"].startswith("auto:"):
        raise ValueError(f"checkpoint={settings['checkpoint']}: placements are not planned for shard=pp yet; use "
                         "checkpoint=blocks")
    if settings["torch"] != "2.15":
        raise ValueError(f"torch={settings['torch']}: shard=pp is known of PyTorch 2.15 alone")
    if torch._has_data():
        torch._warn("shard=pp: what the other stages would send is not there, and zeros are used in its place; so the "
                    "losses are not those of a training")


# ---- the modules of a stage ----


def _stages_of(model, settings):
    # the stages that each module begins and ends in, by path
    cuts = [] if settings["pp-split"] == "none" else settings["pp-split"].split(",")
    paths = [path for path, m in model.named_modules() if path != ""]
    for path in cuts:
        if path not in paths:
            more = ", ..." if len(paths) > 6 else ""
            raise ValueError(f"pp-split={path}: the model has no module at this path ({', '.join(paths[:6])}{more})")
    if settings["pp-schedule"] in schedules.LOOPED:
        if (len(cuts) + 1) % settings["world"] != 0:
            raise ValueError(f"pp-split={settings['pp-split']}: with pp-schedule={settings['pp-schedule']} each of the "
                             f"world={settings['world']} processes has equally many stages, and there are "
                             f"{len(cuts) + 1}: one more than modules named")
    elif len(cuts) != settings["world"] - 1:
        raise ValueError(f"pp-split={settings['pp-split']}: a pipeline of world={settings['world']} stages is cut at "
                         f"{settings['world'] - 1} modules, the first ones of all stages but stage 0")
    begins = {}
    ends = {}
    stage = 0
    for path in paths:
        if path in cuts:
            stage += 1
        begins[path] = stage
        names = path.split(".")
        for i in range(len(names)):
            ends[".".join(names[:i + 1])] = stage
    return begins, ends


def _cut_below(m, path, begins, ends, stage, undo):
    before = dict(m._modules)
    for name, child in before.items():
        inner = path + "." + name if path else name
        if child is None or inner not in begins:
            continue
        if begins[inner] <= stage and stage <= ends[inner]:
            _cut_below(child, inner, begins, ends, stage, undo)
        elif isinstance(m, (nn.Sequential, nn.ModuleList, nn.ModuleDict)):
            del m._modules[name]
        else:
            m._modules[name] = None
    undo.append((m, before))


def cut(model, settings, stage):
    # Leaves what one stage has: modules of others are taken out of their lists, elsewhere they become None. Returns
    # what restore() puts back.
    begins, ends = _stages_of(model, settings)
    undo = []
    _cut_below(model, "", begins, ends, stage, undo)
    return undo


def _count_of(settings):
    return 1 if settings["pp-split"] == "none" else len(settings["pp-split"].split(",")) + 1


def stages_of(settings):
    # those of this process
    if settings["pp-schedule"] not in schedules.LOOPED:
        return [int(settings["rank"])]
    return list(range(int(settings["rank"]), _count_of(settings), settings["world"]))


def _kept(model, settings, stage):
    # the same for good; returns the settings whose toggles name modules of the stage alone
    paths = [path for path, m in model.named_modules()]
    cut(model, settings, stage)
    kept = [path for path, m in model.named_modules()]
    of_stage = {name: value for name, value in settings.items()}
    for name, without in (("checkpoint", "off"), ("offload", "off"), ("inplace", "off"), ("freeze", "none")):
        words = settings[name].split(",")
        if all([word in paths for word in words]):
            of_stage[name] = ",".join([word for word in words if word in kept]) or without
    return of_stage


def keep(model, settings, make):
    # What this process trains: the model cut to its stage; where it has several, a list of models, each made anew, as
    # scripts do. settings["parts"] has each with its own settings.
    stages = stages_of(settings)
    models = [model] + [make() for stage in stages[1:]]
    settings["parts"] = [(m, _kept(m, settings, stage)) for m, stage in zip(models, stages)]
    return model if len(stages) == 1 else nn.ModuleList(models)


def parts_of(model, settings):
    return settings["parts"] if "parts" in settings else [(model, settings)]


def restore(undo):
    for m, modules in undo:
        m._modules.clear()
        m._modules.update(modules)


def _shape_text(t):
    if not isinstance(t, torch.Tensor):
        raise ValueError(f"shard=pp: a stage gave a {type(t).__name__} to the next one; only tensors, alone or in a "
                         "tuple, are supported")
    words = ("x".join([str(n) for n in t.shape]), "x".join([str(n) for n in t.stride()]), str(t.dtype),
             str(t.requires_grad))
    return " ".join(words)


def _shapes_text(tensors):
    return ";".join([_shape_text(t) for t in tensors])


def shapes_of(model, settings, output):
    # what each stage of this process gets and gives for a microbatch, from running all stages before: as text
    mine = stages_of(settings)
    texts = []
    for stage in range(mine[len(mine) - 1] + 1):
        args = schedules.as_tuple(output) if stage > 0 else (output,)
        undo = cut(model, settings, stage)
        output = model(*args)
        restore(undo)
        if stage in mine:
            given = schedules.leaves(args)
            texts.append(_shapes_text(given) + "|" + _shapes_text(schedules.as_tuple(output)))
    return "/".join(texts)


# ---- training ----


def _split(value, count):
    # a tensor, or each of a tuple, list or dictionary
    if isinstance(value, dict):
        parts = [_split(v, count) for v in value.values()]
        return [{name: part[i] for name, part in zip(value.keys(), parts)} for i in range(count)]
    if isinstance(value, (tuple, list)):
        parts = [_split(v, count) for v in value]
        if isinstance(value, list):
            return [[part[i] for part in parts] for i in range(count)]
        return [tuple([part[i] for part in parts]) for i in range(count)]
    if not isinstance(value, torch.Tensor):
        return [value for i in range(count)]
    rows = value.shape[0]
    if rows % count != 0:
        raise ValueError(f"shard=pp: {rows} rows of a batch do not divide into microbatches={count} equal parts")
    rows = rows // count
    return [value[i * rows:(i + 1) * rows] for i in range(count)]


def part_of(pair, settings):
    # the first stage gets inputs, the last one targets
    rank = int(settings["rank"])
    return pair[0] if rank == 0 else None, pair[1] if rank == settings["world"] - 1 else None


class Schedule:
    def __init__(self, settings, loss_fn, autocast, end):
        count = _count_of(settings)
        shapes = torch._stage_shapes().split("/")
        stages = [schedules.Stage(part[0], stage, count, text, settings, autocast)
                  for part, stage, text in zip(settings["parts"], stages_of(settings), shapes)]
        self.runner = schedules.Schedule(stages, loss_fn, settings, autocast, end)
        self.count = settings["microbatches"]

    def step(self, part, inputs, targets, losses, return_outputs):
        if targets is not None and not isinstance(targets, torch.Tensor):
            raise ValueError(f"shard=pp: the targets of a batch are a {type(targets).__name__}; schedules split a "
                             "tensor")
        arg_mbs = [()] * self.count
        if inputs is not None:
            arg_mbs = _split((inputs,), self.count)
        target_mbs = None if targets is None else _split(targets, self.count)
        self.runner.first_mark = part * self.count
        return self.runner.step(arg_mbs, target_mbs, losses, return_outputs)


def train(schedule, model, optimizer, settings, next_batch, end, finish):
    once = settings["data"] == "once"
    grad = settings["grad"]
    accumulate = settings["accumulate"]
    return_outputs = settings["drop-outputs"] != "early"
    scale = schedule.count if accumulate == 1 else 1  # losses of parts are divided already
    if once:
        inputs, targets = next_batch()
    end("setup", 0, settings)
    for step in range(settings["steps"]):
        torch._step(step)
        for part in range(accumulate):
            torch._phase("data")
            if not once:
                inputs, targets = next_batch()
            end("data", part, settings)
            torch._phase("forward")
            losses = []
            with torch.set_grad_enabled(grad != "no_grad"):
                output = schedule.step(part, inputs, targets, losses, return_outputs)
            for i in range(len(losses)):
                if torch._has_data():
                    torch._note_loss(losses[i].item() / scale)
            is_end = grad != "train" and part == accumulate - 1
            end("backward" if grad == "train" else "loss", (part + 1) * schedule.count - 1, settings, is_end)
            if settings["drop-outputs"] != "off":
                del output, losses
        if grad != "train":
            continue
        torch._phase("optimizer")
        optimizer.step()
        end("optimizer", 0, settings)
        torch._phase("zero_grad")
        optimizer.zero_grad(set_to_none=settings["zero-grad"] == "none")
        end("zero_grad", 0, settings, True)
    finish(model, settings)
