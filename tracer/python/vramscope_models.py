"""tracer/python/vramscope_models.py - toggles that change a model: freeze, half, inplace, checkpoint, offload, compile.

For vramscope_toggles.py, which says when a model is moved to the GPU and when the script calls it. The rules for parts
of a model (blocks, segments, paths) are those that a net has (lang/prelude/toggles.py).
"""
import functools
import math
import weakref

# classes of torch.nn with a parameter `inplace`
IN_PLACE = ("ReLU", "ReLU6", "LeakyReLU", "ELU", "CELU", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "Hardtanh",
            "RReLU", "Threshold", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout",
            "FeatureAlphaDropout")

# what checkpoint=selective keeps: the same as for nets (lang/prelude/selective.py)
COMPUTE_INTENSIVE = ("mm.default", "addmm.default", "bmm.default", "baddbmm.default", "convolution.default",
                     "_scaled_dot_product_flash_attention.default",
                     "_scaled_dot_product_efficient_attention.default", "upsample_bilinear2d.default")


class Models:
    """values: of the toggles. refuse(toggle, reason) and done are the owner's."""

    def __init__(self, torch, values):
        self.torch = torch
        self.values = values
        self.refuse = None
        self.done = None
        self.prepared = weakref.WeakSet()

    def has_parameters(self, module):
        return next(module.parameters(), None) is not None

    # ---- when ----

    def before_move(self, module):
        """The script moves `module` to the GPU."""
        if self.values.get("half") == "on" and any(p.is_floating_point() and p.dtype != self.torch.half
                                                   for p in module.parameters()):
            module.half()
            self.done.add("half")

    def prepare(self, module):
        """The script calls `module`."""
        if module in self.prepared:
            return
        self.prepared.add(module)
        self.before_move(module)
        model = self.unwrapped(module)
        for toggle, change in ("freeze", self.freeze), ("inplace", self.set_inplace), ("checkpoint", self.checkpoint):
            if self.values.get(toggle, "off") not in ("off", "none"):
                self.done.add(toggle)
                change(model, self.values[toggle])
        if self.values.get("offload", "off") not in ("off", "activations"):
            self.offload(model, self.values["offload"])
        if self.values.get("compile") == "on":
            self.compile(module)

    def unwrapped(self, module):
        """The script's model in what wraps it: DistributedDataParallel, DataParallel, torch.compile."""
        while True:
            inner = getattr(module, "_orig_mod", None)
            if inner is None and type(module).__name__ in ("DistributedDataParallel", "DataParallel",
                                                           "FullyShardedDataParallel"):
                inner = module.module
            if not isinstance(inner, self.torch.nn.Module):
                return module
            module = inner

    def at(self, model, paths, toggle):
        known = dict(model.named_modules())
        found = []
        for path in paths:
            if path in known:
                found.append((path, known[path]))
                continue
            names = [name for name in known if name]
            self.refuse(toggle, "the model has no module '%s' (%s%s)"
                        % (path, ", ".join(names[:6]), ", ..." if len(names) > 6 else ""))
        return found

    # ---- what ----

    def halved(self, value):
        """`value` with each tensor of floats on the GPU in fp16."""
        torch = self.torch
        if isinstance(value, torch.Tensor):
            return value.half() if value.is_cuda and value.is_floating_point() else value
        if type(value) in (tuple, list):
            return type(value)(self.halved(v) for v in value)
        if type(value) is dict:
            return {k: self.halved(v) for k, v in value.items()}
        return value

    def freeze(self, model, value):
        if value == "half":
            parameters = list(model.parameters())
            parameters = parameters[:len(parameters) // 2]
        else:
            parameters = [p for _, m in self.at(model, value.split(","), "freeze") for p in m.parameters()]
        for p in parameters:
            p.requires_grad_(False)

    def set_inplace(self, model, value):
        nn = self.torch.nn
        able = tuple(getattr(nn, name) for name in IN_PLACE if hasattr(nn, name))
        if value == "on":
            found = [(path, m) for path, m in model.named_modules() if isinstance(m, able) and not m.inplace]
            if not found:
                self.refuse("inplace", "the model has no module of an activation or a dropout that does not work in "
                            "place already")
        else:
            found = self.at(model, value.split(","), "inplace")
        for path, m in found:
            if hasattr(m, "inplace"):
                m.inplace = True
            else:
                self.refuse("inplace", "'%s': %s has no in-place form" % (path, type(m).__name__))

    # ---- checkpoint ----

    def checkpoint(self, model, value):
        if value == "sqrt" or value.startswith("segments="):
            self.checkpoint_segments(model, value)
            return
        if value == "selective" and not hasattr(self.torch.utils.checkpoint, "create_selective_checkpoint_contexts"):
            self.refuse("checkpoint", "this PyTorch has no selective checkpoints")
            return
        blocks = self.blocks_of(model) if value in ("blocks", "selective") else [
            m for _, m in self.at(model, value.split(","), "checkpoint")]
        if not blocks and value in ("blocks", "selective"):
            self.refuse("checkpoint", "no child of the model's Sequentials and ModuleLists has children of its own; "
                        "name modules: checkpoint=PATH,PATH")
        for m in blocks:
            self.forward_replace(m, self.checkpointed)

    def checkpoint_segments(self, model, value):
        path, target = self.segment_target(model)
        if target is None:
            self.refuse("checkpoint", "the model has no nn.Sequential")
            return
        count = max(1, round(math.sqrt(len(target)))) if value == "sqrt" else int(value.split("=")[1])
        if count > len(target):
            self.refuse("checkpoint", "'%s' has only %d children" % (path, len(target)))
            return
        self.forward_replace(target, lambda plain, m, x: self.segmented(plain, m, count, x))

    def forward_replace(self, module, function):
        """`function` gets the forward that it replaces, and the module, first. The module gets a class of its own: with
        an attribute `forward` it would be part of a reference cycle, and a copy of it would run the original."""
        made = type(module)

        def forward(module, *args, **named):
            return function(super(changed, module).forward, module, *args, **named)

        changed = type(made.__name__, (made,), {"forward": forward, "__module__": made.__module__,
                                                "__qualname__": made.__qualname__, "__doc__": made.__doc__})
        module.__class__ = changed

    def options(self):
        options = {"use_reentrant": self.values.get("checkpoint-impl") == "reentrant",
                   "preserve_rng_state": self.values.get("preserve-rng", "on") == "on"}
        if self.values["checkpoint"] == "selective":
            options["context_fn"] = functools.partial(
                self.torch.utils.checkpoint.create_selective_checkpoint_contexts, self.intensive_ops())
        return options

    def intensive_ops(self):
        found = []
        for name in COMPUTE_INTENSIVE:
            packet, overload = name.split(".")
            found.append(getattr(getattr(self.torch.ops.aten, packet), overload))
        return found

    def checkpointed(self, plain, module, *args, **named):
        if not self.torch.is_grad_enabled():
            return plain(*args, **named)
        return self.torch.utils.checkpoint.checkpoint(plain, *args, **self.options(), **named)

    def segmented(self, plain, module, count, x):
        if not self.torch.is_grad_enabled():
            return plain(x)
        return self.torch.utils.checkpoint.checkpoint_sequential(list(module.children()), count, x, **self.options())

    # ---- offload, compile ----

    def offload(self, model, value):
        for _, m in self.at(model, value.split(","), "offload"):
            # a ModuleList is never called, its modules are
            for part in m if isinstance(m, self.torch.nn.ModuleList) else [m]:
                self.forward_replace(part, self.offloaded)

    def offloaded(self, plain, module, *args, **named):
        if not self.torch.is_grad_enabled():
            return plain(*args, **named)
        self.done.add("offload")
        with self.torch.autograd.graph.save_on_cpu(pin_memory=True):
            return plain(*args, **named)

    def compile(self, module):
        self.done.add("compile")
        if getattr(module, "_orig_mod", None) is not None or getattr(module, "_compiled_call_impl", None) is not None:
            self.refuse("compile", "the script compiles its model itself")
        elif not hasattr(module, "compile"):
            self.refuse("compile", "this PyTorch has no Module.compile")
        else:
            module.compile()

    # ---- parts of a model ----

    def blocks_of(self, module):
        """The children of the outermost Sequential and ModuleList containers that have children themselves."""
        nn = self.torch.nn
        found = []
        for child in module.children():
            if not any(True for _ in child.children()):
                continue
            if isinstance(module, (nn.Sequential, nn.ModuleList)) and not isinstance(child, (nn.ModuleList,
                                                                                             nn.ModuleDict)):
                found.append(child)
            else:
                found += self.blocks_of(child)
        return found

    def segment_target(self, model):
        """The model itself, or the outermost Sequential with the most children, the first of equal ones."""
        nn = self.torch.nn
        if isinstance(model, nn.Sequential):
            return "", model
        best = (None, None)
        for path, m in self.sequentials_of(model, ""):
            if best[1] is None or len(m) > len(best[1]):
                best = (path, m)
        return best

    def sequentials_of(self, module, path):
        found = []
        for name, child in module.named_children():
            at = path + "." + name if path else name
            found += [(at, child)] if isinstance(child, self.torch.nn.Sequential) else self.sequentials_of(child, at)
        return found
