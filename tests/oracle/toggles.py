"""tests/oracle/toggles.py - what each toggle does to a model, as the net language page defines it ("Toggles,
exactly")."""
import importlib.util
import os
import re

import torch
import torch.nn as nn
from torch.utils import checkpoint as ckpt

from netfile import DEFAULT_LR, DEFAULTS, no_initialisation, to_device

VALUES = {  # name: the default first, then what else is legal; None: any text or number
    "batch": None, "steps": None, "offload": None, "accumulate": None, "lr": None, "data": ("fresh", "once"),
    "inplace": None, "amp": ("off", "fp16", "bf16"), "half": ("off", "on"),
    "checkpoint": None, "checkpoint-impl": ("non-reentrant", "reentrant"),
    "preserve-rng": ("on", "off"), "optimizer": ("sgd", "momentum", "adam", "adamw"),
    "foreach": ("auto", "off"), "zero-grad": ("none", "zeros"), "drop-outputs": ("off", "on", "early"),
    "grad": ("train", "eval", "no_grad"), "freeze": None, "prefetch": None, "chunk-loss": None,
    "shard": ("off", "ddp", "zero1", "fsdp", "tp", "pp", "deepspeed-zero1", "deepspeed-zero2", "deepspeed-zero3"),
    "world": None, "rank": None, "pp-split": None, "pp-schedule": ("1f1b", "gpipe", "interleaved1f1b", "loopedbfs"),
    "microbatches": None, "replicate": None, "tp": None, "cp": None, "cp-buffers": None,
    "cp-rotate": ("allgather", "alltoall"),
    "loss-parallel": ("off", "on"),
    "shard-units": None, "tp-plan": None, "reshard": ("on", "off"), "mp-policy": ("off", "bf16", "bf16-reduce", "fp16"),
    "offload-policy": ("off", "cpu"), "reduce-bucket-size": None,
    "overlap-comm": ("off", "on"), "stage3-prefetch-bucket-size": None, "stage3-param-persistence-threshold": None,
    "stage3-max-live-parameters": None, "stage3-max-reuse-distance": None, "sub-group-size": None,
    "grad-sync": ("always", "last"),
    "fuse": ("off", "on"), "quantize": ("off", "int8"),
}
IN_PLACE = (nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.CELU, nn.SELU, nn.SiLU, nn.Mish,
            nn.Hardswish, nn.Hardsigmoid, nn.Hardtanh, nn.RReLU, nn.Threshold,
            nn.Dropout, nn.Dropout2d, nn.Dropout3d)
AMP_DTYPE = {"fp16": torch.float16, "bf16": torch.bfloat16}


class Refused(Exception):
    """The toggle does not apply to this net."""


def settle(given, net):
    """All toggles with their values: the command line's, else the file's, else the default."""
    t = {"accumulate": 1, "inplace": "off", "offload": "off", "checkpoint": "off", "freeze": "",
         "prefetch": "off", "world": 8, "rank": 0, "pp-split": "none", "microbatches": 4, "chunk-loss": "off",
         "replicate": 1, "tp": 1, "cp": 1, "cp-buffers": "none",
         "shard-units": "blocks", "reduce-bucket-size": 500000000,
         "stage3-prefetch-bucket-size": 50000000, "stage3-param-persistence-threshold": 100000,
         "stage3-max-live-parameters": 1000000000, "stage3-max-reuse-distance": 1000000000,
         "sub-group-size": 1000000000}
    t.update((n, v[0]) for n, v in VALUES.items() if v)
    t.update(DEFAULTS)
    t.update((n, v) for n, v in net.defaults.items() if n in VALUES)
    for name, value in given.items():
        if name not in VALUES:
            raise SystemExit("unknown toggle: " + name)
        if VALUES[name] and value not in VALUES[name]:
            raise SystemExit("%s: one of %s, not %s" % (name, ", ".join(VALUES[name]), value))
        t[name] = value
    for name in ("batch", "steps", "accumulate", "world", "rank", "microbatches", "replicate", "tp", "cp",
                 "reduce-bucket-size", "stage3-prefetch-bucket-size", "stage3-param-persistence-threshold",
                 "stage3-max-live-parameters", "stage3-max-reuse-distance", "sub-group-size"):
        t[name] = int(t[name])
    if "lr" in given:
        t["lr"] = float(given["lr"])
    elif "optimizer" in given or "lr" not in net.defaults:
        t["lr"] = DEFAULT_LR[t["optimizer"]]
    return t


def prepare(model, toggles, decided=None):
    """Apply what is applied on the host, in the order the page gives; returns notes.

    `decided` is what decide_inplace gave, where the toggle inplace is "on".
    """
    notes = {}
    if toggles["half"] == "on":
        model.half()
    lower(model, toggles)
    if toggles["inplace"] == "on":
        notes["inplace"] = decided
        switch_inplace(model, decided["on"])
    elif toggles["inplace"] != "off":
        switch_inplace(model, toggles["inplace"].split(","))
    if toggles["grad"] != "train":
        model.eval()
    if toggles["checkpoint"] != "off":
        notes["checkpoint"] = wrap_checkpoint(model, toggles)
    if toggles["offload"] != "off" and toggles["grad"] != "no_grad":
        paths = [""] if toggles["offload"] == "activations" else toggles["offload"].split(",")
        for path in paths:
            m = model.get_submodule(path)
            for part in m if isinstance(m, nn.ModuleList) else [m]:
                offload(part)
    freeze(model, toggles["freeze"])
    if toggles["chunk-loss"] != "off":
        of_prelude("chunked_loss").use(int(toggles["chunk-loss"]))
    return notes


def offload(model):
    plain = model.forward

    def forward(*args, **kwargs):
        with torch.autograd.graph.save_on_cpu(pin_memory=True):
            return plain(*args, **kwargs)

    model.forward = forward


def of_prelude(name):
    """A file of lang/prelude that is ordinary PyTorch, run by PyTorch."""
    path = os.path.join(os.path.dirname(__file__), "..", "..", "lang", "prelude", name + ".py")
    spec = importlib.util.spec_from_file_location("_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- for evaluation: lang/prelude/evaluation.py, run by PyTorch, with PyTorch's own fuse_conv_bn_eval ----


def lower(model, toggles):
    if toggles["fuse"] == "off" and toggles["quantize"] == "off":
        return
    if toggles["grad"] == "train":
        raise Refused("for evaluation only")
    evaluation = of_prelude("evaluation")
    if toggles["fuse"] == "on":
        evaluation.fuse(model)
    if toggles["quantize"] == "int8":
        evaluation.quantize(model)


# ---- checkpoint ----


def _with_gradient(args):
    """Reentrant checkpoint needs one argument that requires grad."""
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    if any(a.requires_grad for a in tensors):
        return args
    return tuple(a.detach().requires_grad_()
                 if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args)


def _checkpoint_words(toggles):
    return dict(use_reentrant=toggles["checkpoint-impl"] == "reentrant",
                preserve_rng_state=toggles["preserve-rng"] == "on")


def save_compute_intensive():
    """The context_fn of checkpoint=selective."""
    aten = torch.ops.aten
    return ckpt.create_selective_checkpoint_contexts([
        aten.mm.default, aten.addmm.default, aten.bmm.default, aten.baddbmm.default, aten.convolution.default,
        aten._scaled_dot_product_flash_attention.default, aten._scaled_dot_product_efficient_attention.default,
        aten.upsample_bilinear2d.default])


def _wrap_block(module, words):
    plain = module.forward

    def forward(*args):
        if not torch.is_grad_enabled():
            return plain(*args)
        if words["use_reentrant"]:
            args = _with_gradient(args)
        return ckpt.checkpoint(plain, *args, **words)

    module.forward = forward


def _wrap_segments(module, count, words):
    plain = module.forward
    children = list(module.children())

    def forward(x):
        if not torch.is_grad_enabled():
            return plain(x)
        if words["use_reentrant"] and count > 1:
            x, = _with_gradient((x,))
        return ckpt.checkpoint_sequential(children, count, x, **words)

    module.forward = forward


def blocks_of(model):
    """Children with children of the outermost Sequential or ModuleList containers."""
    found = []

    def has_children(m):
        return next(m.children(), None) is not None

    def enter(m, name):
        container = isinstance(m, (nn.Sequential, nn.ModuleList))
        for child_name, child in m.named_children():
            path = name + "." + child_name if name else child_name
            if container and has_children(child) and not isinstance(
                    child, (nn.ModuleList, nn.ModuleDict)):
                found.append((path, child))
            elif has_children(child):
                enter(child, path)

    enter(model, "")
    return found


def units_of(model, value):
    """The modules that shard-units names, inner ones first."""
    if value == "blocks":
        return [block for path, block in blocks_of(model)]
    words = value.split(",")

    def is_unit(path, m):
        return any(w == type(m).__name__ or re.fullmatch(re.escape(w).replace(r"\*", "[^.]*"), path) for w in words)

    def enter(m, path, seen):
        if m in seen:
            return
        seen.add(m)
        for name, child in m.named_children():
            yield from enter(child, path + "." + name if path else name, seen)
        if path and is_unit(path, m) and not isinstance(m, (nn.ModuleList, nn.ModuleDict)):
            yield m

    return list(enter(model, "", set()))


def segment_target(model):
    if isinstance(model, nn.Sequential):
        return "", model
    outer = []

    def enter(m, name):
        for child_name, child in m.named_children():
            path = name + "." + child_name if name else child_name
            if isinstance(child, nn.Sequential):
                outer.append((path, child))
            else:
                enter(child, path)

    enter(model, "")
    if not outer:
        raise Refused("no nn.Sequential for checkpoint_sequential")
    return max(outer, key=lambda found: len(found[1]))


def wrap_checkpoint(model, toggles):
    kind, words = toggles["checkpoint"], _checkpoint_words(toggles)
    if kind in ("blocks", "selective"):
        if kind == "selective":
            words["context_fn"] = save_compute_intensive
        found = blocks_of(model)
        for path, module in found:
            _wrap_block(module, words)
        return [path for path, module in found]
    if kind == "sqrt" or kind.startswith("segments="):
        path, target = segment_target(model)
        count = max(1, round(len(target) ** 0.5)) if kind == "sqrt" else int(kind.split("=")[1])
        if count > len(target):
            raise Refused("%d segments of %d children" % (count, len(target)))
        _wrap_segments(target, count, words)
        return ["%s: %d of %d" % (path or "(model)", count, len(target))]
    if kind.startswith("("):
        return _place(model, kind)
    paths = kind.split(",")
    for path in paths:
        _wrap_block(model.get_submodule(path), words)
    return paths


def _place(model, text):
    """The placement that a trace of checkpoint=auto has under `placement`, applied by the file of the prelude."""
    path = os.path.join(os.path.dirname(__file__), "..", "..", "lang", "prelude", "placement.py")
    names = {}
    ckpt._save_compute_intensive = save_compute_intensive  # of lang/prelude/selective.py
    with open(path) as f:
        exec(compile(f.read(), path, "exec"), names)
    names["apply"](model, text)
    return [text]


# ---- in place, freeze, optimizer ----


def switch_inplace(model, paths, value=True):
    for path in paths:
        model.get_submodule(path).inplace = value


class InplaceCheck:
    """Steps of one net with some modules in place, on one device."""

    def __init__(self, net, toggles, device):
        torch.manual_seed(0)
        if device == "cpu":
            self.model = net.model()
        else:  # values do not matter there
            with no_initialisation():
                self.model = net.model()
        self.model.to(device)
        if toggles["checkpoint"] != "off":
            wrap_checkpoint(self.model, toggles)
        self.net, self.device = net, device
        self.buffers = {n: b.clone() for n, b in self.model.named_buffers()}

    def run(self, paths):
        """Loss and gradients with `paths` in place; or PyTorch's message."""
        with torch.no_grad():
            for n, b in self.model.named_buffers():
                b.copy_(self.buffers[n])
        self.model.zero_grad()
        switch_inplace(self.model, paths)
        torch.manual_seed(1)
        inputs, targets = to_device(self.net.batch(2), self.device)
        try:
            loss = self.net.loss(self.model(inputs), targets)
            loss.backward()
        except RuntimeError as error:
            return str(error).split("\n")[0].split(" Hint:")[0]
        finally:
            switch_inplace(self.model, paths, False)
        found = [loss] + [p.grad for p in self.model.parameters() if p.grad is not None]
        return [f.detach().clone() for f in found]


def _same(a, b):
    return len(a) == len(b) and all(torch.equal(x.view(-1).view(torch.uint8),
                                                y.view(-1).view(torch.uint8))
                                    for x, y in zip(map(torch.Tensor.contiguous, a),
                                                    map(torch.Tensor.contiguous, b)))


def _greedy(candidates, verdict):
    """One after the other in order; verdict(paths) is None where all is well."""
    kept, refused = [], {}
    for path in candidates:
        reason = verdict(kept + [path])
        if reason is None:
            kept.append(path)
        else:
            refused[path] = reason
    return kept, refused


def decide_inplace(net, toggles, device=None):
    """Which candidates may be in place: those whose check neither raises nor changes a bit.

    `device`, a device that computes nothing, sorts out those that raise; it is quick. What is
    left is tried with real arithmetic, all together and, if that fails, one after the other.
    """
    with no_initialisation():
        candidates = [n for n, m in net.model().named_modules()
                      if isinstance(m, IN_PLACE) and not m.inplace]
    refused = {}
    if candidates and device is not None:
        quick = InplaceCheck(net, toggles, device)
        raised = lambda paths: (lambda r: r if isinstance(r, str) else None)(quick.run(paths))
        if raised(candidates) is not None:
            candidates, refused = _greedy(candidates, raised)
    if not candidates:
        return {"on": [], "refused": refused}
    exact = InplaceCheck(net, toggles, "cpu")
    plain = exact.run([])

    def clean(paths):
        result = exact.run(paths)
        if isinstance(result, str):
            return result
        return None if _same(plain, result) else "the old value is read again"

    if clean(candidates) is not None:
        candidates, more = _greedy(candidates, clean)
        refused.update(more)
    return {"on": candidates, "refused": refused}


def freeze(model, value):
    if not value:
        return
    if value == "half":
        params = list(model.parameters())
        for p in params[:len(params) // 2]:
            p.requires_grad_(False)
        return
    for path in value.split(","):
        for p in model.get_submodule(path).parameters():
            p.requires_grad_(False)


def make_optimizer(model, toggles):
    params = [p for p in model.parameters() if p.requires_grad]
    if not params:
        raise Refused("no parameter requires grad")
    words = dict(lr=toggles["lr"], foreach=None if toggles["foreach"] == "auto" else False)
    kind = toggles["optimizer"]
    if kind == "momentum":
        words["momentum"] = 0.9
    if kind == "adamw":
        words["weight_decay"] = 0.01
    kinds = {"sgd": torch.optim.SGD, "momentum": torch.optim.SGD, "adam": torch.optim.Adam,
             "adamw": torch.optim.AdamW}
    if toggles["shard"] == "zero1":
        from torch.distributed.optim import ZeroRedundancyOptimizer
        return ZeroRedundancyOptimizer(params, kinds[kind], **words)
    return kinds[kind](params, **words)
