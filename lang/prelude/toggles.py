# lang/prelude/toggles.py - the changes that each toggle makes to a model on the host, before it moves to the device.
#
# For:       train.py.
# Invariant: the rules are those of the net language page ("Toggles, exactly"). A combination that PyTorch refuses is
#            refused with PyTorch's reason, one that does not fit the net with a reason of this program.
import math

import torch
import torch.nn as nn
import torch.utils.checkpoint

import _distributed as distributed
import _chunked_loss as chunked_loss
import _deepspeed as deepspeed
import _evaluation as evaluation
import _placement as placement

_IN_PLACE = (nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.CELU, nn.SELU, nn.SiLU, nn.Mish, nn.Hardswish,
             nn.Hardsigmoid, nn.Hardtanh, nn.RReLU, nn.Threshold, nn.Dropout, nn.Dropout2d, nn.Dropout3d)


def prepare(model, settings):
    # half and freeze have been applied, and `inplace` decided: settings["inplace_paths"]
    set_inplace(model, settings["inplace_paths"])
    if settings["grad"] != "train":
        model.eval()
    note_without_effect(model, settings)
    wrap_checkpoint(model, settings)
    offload(model, settings)
    if settings["chunk-loss"] != "off":
        settings["chunked_loss"] = chunked_loss.use(int(settings["chunk-loss"]))


# ---- toggles without effect ----


def note_without_effect(model, settings):
    # a value that is legal but has no effect on this net is reported, with the setting that would give it one
    value = settings["checkpoint"]
    if value == "off":
        if settings["checkpoint-impl"] == "reentrant":
            torch._note_refused("checkpoint-impl", "reentrant", "nothing is checkpointed: set `checkpoint`, too")
        if settings["preserve-rng"] == "off":
            torch._note_refused("preserve-rng", "off", "nothing is checkpointed: set `checkpoint`, too")
    elif settings["grad"] == "no_grad":
        torch._note_refused("checkpoint", value, "under grad=no_grad nothing is kept for backward")
    elif value in ("blocks", "selective") and len(_blocks_of(model)) == 0:
        torch._note_refused("checkpoint", value, _no_blocks(model))
    elif value in ("sqrt", "segments=1"):
        path, target = _segment_target(model)
        if target is not None and (value != "sqrt" or round(math.sqrt(len(target))) < 2):
            part = f"'{path}'" if path else "the net"
            torch._note_refused("checkpoint", value,
                                f"{part}, the longest Sequential, has {len(target)} children and becomes one segment; "
                                "the last segment is never checkpointed; give segments=2 or name modules")
    if settings["offload"] != "off" and settings["grad"] == "no_grad":
        torch._note_refused("offload", settings["offload"], "under grad=no_grad nothing is kept for backward")
    if settings["prefetch"] != "off" and settings["data"] == "once":
        torch._note_refused("prefetch", settings["prefetch"], "with data=once there is no next batch; leave data=fresh")
    if settings["shard"] == "off" and settings["world"] != 8:  # the default
        torch._note_refused("world", str(settings["world"]), "nothing is sharded; say how: shard=ddp")
    _note_sharding_without_effect(settings)
    if settings["grad-sync"] != "always" and settings["shard"] == "off":
        torch._note_refused("grad-sync", settings["grad-sync"], "nothing is sharded; say how: shard=ddp")
    elif settings["grad-sync"] != "always" and settings["accumulate"] == 1:
        torch._note_refused("grad-sync", settings["grad-sync"], "with accumulate=1 every part is the last")
    elif settings["grad-sync"] != "always" and settings["shard"] in ("tp", "pp"):
        torch._note_refused("grad-sync", settings["grad-sync"], f"with shard={settings['shard']} processes exchange no "
                            "gradients of parameters")
    elif settings["grad-sync"] != "always" and deepspeed.is_chosen(settings):
        torch._note_refused("grad-sync", settings["grad-sync"], "DeepSpeed's engine decides it: stage 1 reduces after "
                            "the last part, stages 2 and 3 after each")
    _note_freeze_without_effect(model, settings["freeze"])


def _note_sharding_without_effect(settings):
    is_fsdp = settings["shard"] == "fsdp"
    is_deepspeed = deepspeed.is_chosen(settings)
    if not is_fsdp and not is_deepspeed and settings["shard"] not in ("zero1", "tp", "pp") and settings["rank"] != "0":
        torch._note_refused("rank", settings["rank"],
                            "only fsdp, zero1, tp, pp and DeepSpeed's ZeRO have other ranks than 0")
    for name, value in (("pp-split", "none"), ("microbatches", 4), ("pp-schedule", "1f1b")):
        if settings["shard"] != "pp" and settings[name] != value:
            torch._note_refused(name, str(settings[name]), "there is no pipeline; say so: shard=pp")
    for name in ("replicate", "tp"):
        if not is_fsdp and settings[name] != 1:
            torch._note_refused(name, str(settings[name]), "there is no mesh of processes; say so: shard=fsdp")
    for name, value in (("tp-plan", "none"), ("loss-parallel", "off")):
        if settings["shard"] != "tp" and (not is_fsdp or settings["tp"] == 1) and settings[name] != value:
            torch._note_refused(name, settings[name], "no layer is split; say so: shard=tp, or shard=fsdp with tp=2")
    for name, value in (("cp", 1), ("cp-buffers", "none"), ("cp-rotate", "allgather")):
        if (not is_fsdp or name != "cp" and settings["cp"] == 1) and settings[name] != value:
            torch._note_refused(name, str(settings[name]), "no sequence is split; say so: shard=fsdp, cp=2")
    if not is_fsdp and settings["shard-units"] != "blocks":
        torch._note_refused("shard-units", settings["shard-units"], "nothing is gathered in units; say so: shard=fsdp")
    if not is_fsdp and settings["reshard"] != "on":
        torch._note_refused("reshard", settings["reshard"], "no parameters are gathered; say so: shard=fsdp")
    if not is_fsdp and not is_deepspeed and settings["mp-policy"] != "off":
        torch._note_refused("mp-policy", settings["mp-policy"], "it is fully_shard's: set shard=fsdp, or use amp=bf16")
    if not is_fsdp and settings["offload-policy"] != "off":
        torch._note_refused("offload-policy", settings["offload-policy"], "it is fully_shard's: set shard=fsdp")
    for name, value in (("reduce-bucket-size", 500000000), ("overlap-comm", "off")):
        if not is_deepspeed and settings[name] != value:
            torch._note_refused(name, str(settings[name]), "it is DeepSpeed's: set shard=deepspeed-zero2")
    for name, value in (("stage3-prefetch-bucket-size", "50000000"), ("stage3-param-persistence-threshold", "100000"),
                        ("stage3-max-live-parameters", "1000000000"), ("stage3-max-reuse-distance", "1000000000"),
                        ("sub-group-size", 1000000000)):
        if settings["shard"] != "deepspeed-zero3" and settings[name] != value:
            torch._note_refused(name, str(settings[name]), "it is of DeepSpeed's stage 3: set shard=deepspeed-zero3")
    if is_deepspeed and settings["zero-grad"] == "zeros":
        torch._note_refused("zero-grad", "zeros", "DeepSpeed's step() sets gradients to None")


def _no_blocks(model):
    containers = [m for name, m in model.named_modules() if isinstance(m, (nn.Sequential, nn.ModuleList))]
    if len(containers) == 0:
        why = "the net has no Sequential or ModuleList"
    else:
        why = "no child of the net's Sequentials and ModuleLists has children of its own"
    path, target = _segment_target(model)
    if target is not None and len(target) > 1:
        part = "'" + path + "'" if path else "the net"
        return why + "; cut " + part + " into parts: checkpoint=segments=2"
    names = [name for name, m in model.named_children() if not isinstance(m, (nn.ModuleList, nn.ModuleDict))]
    if len(names) == 0:
        return why
    return why + "; name modules: checkpoint=" + ",".join(names[:2])


def _note_freeze_without_effect(model, value):
    if value == "none":
        return
    if value == "half":
        if len(list(model.parameters())) < 2:
            torch._note_refused("freeze", value, "half of the net's parameters is none")
        return
    paths = value.split(",")
    for path, m in zip(paths, modules_at(model, paths, "freeze")):
        if len(list(m.parameters())) == 0:
            some = [name for name, m in model.named_children() if len(list(m.parameters())) > 0]
            torch._note_refused("freeze", path, "it has no parameters; these have: " + ", ".join(some[:4]))


def _note_no_candidates(model):
    able = [name for name, m in model.named_modules() if isinstance(m, _IN_PLACE)]
    if len(able) > 0:
        why = "each module that can work in place does so already"
    else:
        why = ("the net has no module of an activation or a dropout; functions have a form of their own, as "
               "F.relu(x, inplace=True)")
    torch._note_refused("inplace", "on", why)


# ---- in place ----


def inplace_candidates(model):
    return [path for path, m in model.named_modules() if isinstance(m, _IN_PLACE) and not m.inplace]


def modules_at(model, paths, toggle):
    # the modules among the paths that a toggle names, in the order of the paths
    if len(paths) == 0:
        return []
    known = {name: m for name, m in model.named_modules()}
    for path in paths:
        if path not in known:
            names = [name for name in known if name != ""]
            more = ", ..." if len(names) > 6 else ""
            raise ValueError(f"{toggle}={path}: the model has no module '{path}'; legal: {torch._legal_values(toggle)}"
                             f" ({', '.join(names[:6])}{more})")
    return [known[path] for path in paths]


def set_inplace(model, paths):
    for path, m in zip(paths, modules_at(model, paths, "inplace")):
        if not hasattr(m, "inplace"):
            raise ValueError(f"inplace={path}: {type(m).__name__} has no in-place form")
        m.inplace = True


def decide_inplace(model, value):
    # returns the paths of the modules to set; the others are reported with the reason
    if value == "off":
        return []
    if value != "on":
        return value.split(",")
    candidates = inplace_candidates(model)
    if len(candidates) == 0:
        _note_no_candidates(model)
        return []
    # usually one run with all of them shows which are at fault; else they are checked one by one, if the net works
    # without any
    faults = torch._inplace_blame(candidates)
    if faults is not None:
        kept = [candidates[i] for i in range(len(candidates)) if faults[i] is None]
        if len(kept) == len(candidates) or torch._inplace_check(kept) is None:
            for i in range(len(candidates)):
                if faults[i] is not None:
                    torch._note_refused("inplace", candidates[i], faults[i])
            return kept
    why = torch._inplace_check([])
    if why is not None:
        for path in candidates:
            torch._note_refused("inplace", path, "in-place check failed: " + why)
        return []
    kept = []
    for path in candidates:
        why = torch._inplace_check(kept + [path])
        if why is None:
            kept.append(path)
        else:
            torch._note_refused("inplace", path, why)
    return kept


# ---- checkpoint ----


def wrap_checkpoint(model, settings):
    value = settings["checkpoint"]
    if value == "auto" or value.startswith("auto:"):
        _place_checkpoints(model, settings)
    elif value != "off":
        _wrap(model, value, settings["checkpoint-impl"] == "reentrant", settings["preserve-rng"] == "on")


def _wrap(model, value, reentrant, preserve):
    if value == "sqrt" or value.startswith("segments="):
        path, target = _segment_target(model)
        if target is None:
            raise ValueError(f"checkpoint={value}: the model has no nn.Sequential")
        if value == "sqrt":
            segments = max(1, round(math.sqrt(len(target))))
        else:
            segments = int(value.split("=")[1])
        if segments > len(target):
            torch._note_segments(len(target))
            raise ValueError(f"checkpoint={value}: '{path}' has only {len(target)} children")
        target.forward = _segmented(target.forward, list(target.children()), segments, reentrant, preserve)
        return
    context_fn = None
    if value == "selective":
        if reentrant:
            raise ValueError("checkpoint-impl=reentrant: Passing `context_fn` or `debug` is only supported when "
                             "use_reentrant=False. checkpoint=selective needs it; leave checkpoint-impl=non-reentrant")
        context_fn = torch.utils.checkpoint._save_compute_intensive
    if value in ("blocks", "selective"):
        blocks = _blocks_of(model)
    else:
        blocks = modules_at(model, value.split(","), "checkpoint")
    for m in blocks:
        m.forward = _checkpointed(m.forward, reentrant, preserve, context_fn)


def _place_checkpoints(model, settings):
    # an in-place check knows no placement: the planner's checkpoints never begin where a module writes to its input
    if "placement" not in settings or settings["grad"] == "no_grad":
        return
    if settings["checkpoint-impl"] == "reentrant":
        raise ValueError("checkpoint-impl=reentrant: the checkpoints of checkpoint=auto are inside each other, which "
                         "only non-reentrant ones can be; leave checkpoint-impl=non-reentrant")
    if settings["preserve-rng"] == "off":
        raise ValueError("preserve-rng=off: checkpoint=auto chooses what is run again, and never draws other random "
                         "numbers there; leave preserve-rng=on")
    text = settings["placement"]
    if text is None:
        text = torch._placement()
    torch._note_placement(text)
    if settings["marks"]:
        placement.mark(model)
    if text in ("blocks", "selective", "sqrt"):
        _wrap(model, text, False, True)
    else:
        placement.apply(model, text)


def _with_gradient(args):
    # Reentrant checkpointing gives a segment no gradients unless an argument requires grad.
    if any([a.requires_grad for a in args if isinstance(a, torch.Tensor)]):
        return args
    return tuple([a.detach().requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
                  for a in args])


def _checkpointed(plain, reentrant, preserve, context_fn):
    def forward(*args, **kwargs):
        if not torch.is_grad_enabled():
            return plain(*args, **kwargs)
        if reentrant:
            args = _with_gradient(args)
        return torch.utils.checkpoint.checkpoint(plain, *args, use_reentrant=reentrant,
                                                 preserve_rng_state=preserve, context_fn=context_fn, **kwargs)

    return forward


def _segmented(plain, children, segments, reentrant, preserve):
    def forward(x):
        if not torch.is_grad_enabled():
            return plain(x)
        if reentrant and segments > 1:
            x = _with_gradient((x,))[0]
        return torch.utils.checkpoint.checkpoint_sequential(children, segments, x, use_reentrant=reentrant,
                                                            preserve_rng_state=preserve)

    return forward


def _blocks_of(model):
    # those children of the outermost Sequential and ModuleList containers that have children themselves
    found = []
    _find_blocks(model, found)
    return found


# ---- units of fully_shard ----


def units_of(model, value):
    # the modules that `shard-units` names, each before the one that it is in, as fully_shard wants them
    if value == "blocks":
        return _blocks_of(model)
    words = value.split(",")
    used = []
    found = []
    _find_units(model, "", words, used, found, [])
    for word in words:
        if word not in used:
            raise ValueError(f"shard-units={value}: no module is of a class `{word}` or at such a path; classes are "
                             + ", ".join(sorted(_class_names(model))))
    return found


def _class_names(model):
    names = []
    for path, m in model.named_modules():
        if path != "" and type(m).__name__ not in names:
            names.append(type(m).__name__)
    return names


def _find_units(m, path, words, used, found, seen):
    if m in seen:
        return
    seen.append(m)
    for name, child in m.named_children():
        _find_units(child, f"{path}.{name}" if path else name, words, used, found, seen)
    if path == "":  # the model is a unit anyway
        return
    is_unit = False
    for word in words:
        if word == type(m).__name__ or _matches(path.split("."), word.split(".")):
            used.append(word)
            is_unit = True
    if is_unit and not isinstance(m, (nn.ModuleList, nn.ModuleDict)):
        found.append(m)


def _matches(names, patterns):
    if len(names) != len(patterns):
        return False
    for name, pattern in zip(names, patterns):
        if pattern.endswith("*"):
            if not name.startswith(pattern[:-1]):
                return False
        elif name != pattern:
            return False
    return True


# ---- blocks ----


def _find_blocks(m, found):
    is_container = isinstance(m, (nn.Sequential, nn.ModuleList))
    for child in m.children():
        has_children = len(list(child.children())) > 0
        if is_container and has_children and not isinstance(child, (nn.ModuleList, nn.ModuleDict)):
            found.append(child)
        elif has_children:
            _find_blocks(child, found)


def _segment_target(model):
    # the model itself, or the outermost Sequential with the most children, the first of equal ones
    if isinstance(model, nn.Sequential):
        return "", model
    found = []
    _find_sequentials(model, "", found)
    best = (None, None)
    for path, m in found:
        if best[1] is None or len(m) > len(best[1]):
            best = (path, m)
    return best


def _find_sequentials(m, path, found):
    for name, child in m.named_children():
        at = path + "." + name if path else name
        if isinstance(child, nn.Sequential):
            found.append((at, child))
        else:
            _find_sequentials(child, at, found)


def offload(model, settings):
    # last, so that checkpoints are inside: what they keep of their arguments goes to the host, too
    value = settings["offload"]
    if value == "off" or settings["grad"] == "no_grad":
        return
    for m in [model] if value == "activations" else modules_at(model, value.split(","), "offload"):
        for part in m if isinstance(m, nn.ModuleList) else [m]:  # a ModuleList is never called, its modules are
            part.forward = _offloaded(part.forward)


def _offloaded(plain):
    def forward(*args, **kwargs):
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return plain(*args, **kwargs)

    return forward


# ---- for evaluation ----


def lower(model, settings):
    # before the model moves to the device: fuse, then quantize
    for name in ("fuse", "quantize"):
        if settings[name] != "off" and settings["grad"] == "train":
            raise ValueError(f"{name}={settings[name]}: for evaluation only; set grad=no_grad")
    if settings["fuse"] == "on" and evaluation.fuse(model) == 0:
        torch._note_refused("fuse", "on", "no convolution is followed by a batch norm over its channels")
    if settings["quantize"] == "int8" and evaluation.quantize(model) == 0:
        torch._note_refused("quantize", "int8", "the net has no nn.Linear and no nn.Conv2d")


def note_unused_chunks(settings):
    # called after the last step
    if settings["chunk-loss"] != "off" and not settings["chunked_loss"].is_used:
        torch._note_refused("chunk-loss", settings["chunk-loss"],
                            "no loss is the mean of F.cross_entropy over logits [rows, classes] with a gradient")


# ---- freeze, optimizer ----


def freeze(model, value):
    if value == "none":
        return
    if value == "half":
        parameters = list(model.parameters())
        for p in parameters[:len(parameters) // 2]:
            p.requires_grad_(False)
        return
    for m in modules_at(model, value.split(","), "freeze"):
        for p in m.parameters():
            p.requires_grad_(False)


def make_optimizer(model, settings):
    optimizer_class, options = _optimizer_of(settings)
    return optimizer_class(_trained(model), **options)


def make_sharded_optimizer(model, settings):
    optimizer_class, options = _optimizer_of(settings)
    return distributed.ZeroRedundancyOptimizer(_trained(model), optimizer_class, settings["world"],
                                               int(settings["rank"]), **options)


def _trained(model):
    params = [p for p in model.parameters() if p.requires_grad]
    if len(params) == 0:
        raise ValueError("no parameter requires grad: there is nothing to train")
    return params


def _optimizer_of(settings):
    kind = settings["optimizer"]
    options = {"lr": settings["lr"], "foreach": None if settings["foreach"] == "auto" else False}
    if kind == "sgd":
        return torch.optim.SGD, options
    if kind == "momentum":
        options["momentum"] = 0.9
        return torch.optim.SGD, options
    if kind == "adam":
        return torch.optim.Adam, options
    options["weight_decay"] = 0.01
    return torch.optim.AdamW, options
