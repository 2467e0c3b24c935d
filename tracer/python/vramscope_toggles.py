"""tracer/python/vramscope_toggles.py - applies toggles from outside to a program that trains with PyTorch.

`vramscope record --amp bf16 -- python3 train.py` runs the script unchanged; what a user would have written into it is
done here, by functions of torch that the script calls: modules, backward, optimizers, DataLoader. The events are
those of the script with the toggle written in. docs/internals/rerun.md says, for each toggle, what "by hand" means.

Nothing is guessed: what a script has no place for is named by refusals(), with the reason.
"""
import contextlib
import functools
import os
import sys
import weakref

PREFIX = "toggle."
DTYPES = {"bf16": "bfloat16", "fp16": "float16"}


def values_of(settings):
    return {name[len(PREFIX):]: value for name, value in settings.items() if name.startswith(PREFIX)}


class Toggles:
    """The toggles of this process. values: by name, as text; models: what changes a model (vramscope_models.py)."""

    def __init__(self, torch, values, models):
        self.torch = torch
        self.values = values
        self.models = models
        self.folder = os.path.dirname(os.path.abspath(__file__))
        self.torch_folder = os.path.dirname(os.path.abspath(torch.__file__))
        self.refused = {}  # "toggle value: reason" -> None, in the order in which they came
        self.done = set()  # toggles that have been applied at least once
        self.region = None  # autocast that we began
        self.scaler = None
        self.script_scales = False  # the script has a GradScaler of its own
        self.is_ours = False  # what is called now is called by this file
        self.is_stepping = False
        self.parts = int(values.get("accumulate", 1))
        self.skipped = weakref.WeakKeyDictionary()  # by optimizer: steps that were left out since its last one
        self.batch_size = None  # that the first DataLoader asked for
        self.call_plain = torch.nn.Module.__call__
        self.patch()

    def refuse(self, toggle, reason):
        self.refused["%s %s: %s" % (toggle, self.values.get(toggle, ""), reason)] = None

    def refusals(self):
        """A line for each part of a toggle that was not applied: toggle, value or module, reason."""
        for toggle, reason in (
                ("amp", "the script calls no module with parameters on the GPU"),
                ("half", "the script calls no module with parameters on the GPU"),
                ("checkpoint", "the script calls no module with parameters"),
                ("inplace", "the script calls no module with parameters"),
                ("freeze", "the script calls no module with parameters"),
                ("offload", "the script calls no module with parameters while gradients are recorded, so nothing is "
                            "saved"),
                ("compile", "the script calls no torch.compile" if self.values.get("compile") == "off" else
                            "the script calls no module with parameters"),
                ("optimizer", "the script makes none of torch.optim's optimizers"),
                ("foreach", "the script makes none of torch.optim's optimizers that has `foreach`"),
                ("zero-grad", "the script calls no zero_grad()"),
                ("accumulate", "the script's batches do not come from torch.utils.data.DataLoader, so they cannot be "
                               "split"),
                ("empty-cache", "the script makes no step of an optimizer"),
                ("batch", "the script makes no torch.utils.data.DataLoader with a batch size")):
            if toggle in self.values and toggle not in self.done and not any(
                    line.startswith(toggle + " ") for line in self.refused):
                self.refuse(toggle, reason)
        if self.values.get("checkpoint", "off") == "off":
            for toggle, value in ("checkpoint-impl", "reentrant"), ("preserve-rng", "off"):
                if self.values.get(toggle) == value:
                    self.refuse(toggle, "nothing is checkpointed: set `checkpoint`, too")
        return list(self.refused)

    # ---- where it is called from ----

    def is_of_script(self, depth):
        """Whether the script (or a library that is not torch) calls; frames of autocast and GradScaler are passed, and
        those of what observes."""
        frame = sys._getframe(depth + 1)
        passed = (os.path.join(self.torch_folder, "amp"), os.path.join(self.torch_folder, "cuda", "amp"), self.folder)
        while frame is not None and frame.f_code.co_filename.startswith(passed):
            frame = frame.f_back
        return frame is not None and not self.is_ours and not frame.f_code.co_filename.startswith(self.torch_folder)

    # ---- patches ----

    def patch(self):
        torch = self.torch
        values = self.values
        self.patch_modules()
        self.patch_backward()
        self.patch_optimizers()
        self.replace(torch.nn.Module, "zero_grad", self.zero_grad)
        if "amp" in values:
            self.patch_amp()
        self.replace(torch, "compile", self.compile_leave if values.get("compile") == "off" else self.compile_plain)
        if values.get("compile") == "off":
            if hasattr(torch.nn.Module, "compile"):
                self.replace(torch.nn.Module, "compile", self.module_compile_leave)
        if "batch" in values or self.parts > 1:
            self.replace(torch.utils.data.DataLoader, "__init__", self.loader_make)

    def replace(self, owner, name, function):
        """`function` gets the function that it replaces first."""
        plain = getattr(owner, name)

        @functools.wraps(plain)
        def wrapper(*args, **named):
            return function(plain, *args, **named)

        setattr(owner, name, wrapper)

    # ---- modules ----

    def patch_modules(self):
        Module = self.torch.nn.Module
        toggles = self

        def __call__(module, *args, **named):
            plain = toggles.call_plain
            if not toggles.models.has_parameters(module):
                return plain(module, *args, **named)
            Module.__call__ = plain  # modules inside are called as always
            try:
                args, named = toggles.forward_begin(module, args, named)
                with toggles.saving():
                    return plain(module, *args, **named)
            finally:
                Module.__call__ = __call__
                toggles.forward_end()

        def move(plain_move, module, *args, **named):
            if toggles.moves_to_gpu(plain_move, args, named):
                toggles.models.before_move(module)
            return plain_move(module, *args, **named)

        Module.__call__ = __call__
        self.replace(Module, "to", move)
        self.replace(Module, "cuda", move)

    def call_changed(self, before):
        """call_plain, which was `before`, has changed, maybe while a module is called."""
        Module = self.torch.nn.Module
        if Module.__call__ is before:
            Module.__call__ = self.call_plain

    def moves_to_gpu(self, move, args, named):
        if move.__name__ == "cuda":
            return True
        try:
            device = self.torch._C._nn._parse_to(*args, **named)[0]
        except Exception:  # Module.to says what is wrong
            return False
        return device is not None and device.type == "cuda"

    def forward_begin(self, module, args, named):
        self.models.prepare(module)
        if "half" in self.values and self.values["half"] == "on":
            args, named = self.models.halved(args), self.models.halved(named)
        if self.values.get("amp", "off") != "off":
            self.region_begin()
        return args, named

    def saving(self):
        """Around a module that the script calls."""
        if self.values.get("offload") != "activations" or not self.torch.is_grad_enabled():
            return contextlib.nullcontext()
        self.done.add("offload")
        return self.torch.autograd.graph.save_on_cpu(pin_memory=True)

    def forward_end(self):
        if self.region is not None and not self.torch.is_grad_enabled():
            self.region_end()
        self.cache_empty("phase")

    # ---- torch.compile ----

    def compile_plain(self, plain, *args, **named):
        """It keeps the bound method `__call__` of a module, and compiles that: nothing of this file may be there."""
        Module = self.torch.nn.Module
        now = Module.__call__
        Module.__call__ = Module._wrapped_call_impl
        try:
            return plain(*args, **named)
        finally:
            Module.__call__ = now

    def compile_leave(self, plain, model=None, **named):
        """compile=off: what the script compiles stays as it is."""
        if not self.is_of_script(2):
            return plain(model, **named)
        self.done.add("compile")
        return (lambda function: function) if model is None else model

    def module_compile_leave(self, plain, module, *args, **named):
        if not self.is_of_script(2):
            return plain(module, *args, **named)
        self.done.add("compile")
        return None

    # ---- mixed precision ----

    def patch_amp(self):
        torch = self.torch
        value = self.values["amp"]
        self.replace(torch.amp.autocast_mode.autocast, "__init__", self.autocast_make)
        scaler = getattr(torch.amp, "GradScaler", None) or torch.cuda.amp.GradScaler
        self.replace(scaler, "__init__", self.scaler_make)
        iterator = torch.utils.data.dataloader._BaseDataLoaderIter
        self.replace(iterator, "__next__", self.batch_next)
        if value not in DTYPES and value != "off":
            self.refuse("amp", "Apex is not applied to programs; legal: off, fp16, bf16")
            self.values["amp"] = "off"

    def autocast_make(self, plain, region, *args, **named):
        if self.is_of_script(2):
            device = args[0] if args else named.get("device_type", "cuda")
            if device == "cuda":
                named = {"device_type": "cuda", "cache_enabled": named.get("cache_enabled")}
                args = ()
                named["enabled"] = self.values["amp"] != "off"
                if named["enabled"]:
                    named["dtype"] = getattr(self.torch, DTYPES[self.values["amp"]])
                self.done.add("amp")
        plain(region, *args, **named)

    def scaler_make(self, plain, scaler, *args, **named):
        if self.is_of_script(2):
            self.script_scales = True
            self.done.add("amp")
            named["enabled"] = self.values["amp"] == "fp16"
            args = args[:5]
        plain(scaler, *args, **named)

    def is_autocast(self):
        try:
            return self.torch.is_autocast_enabled("cuda")
        except TypeError:  # PyTorch before 2.4
            return self.torch.is_autocast_enabled()

    def region_begin(self):
        if self.region is not None or self.is_autocast():
            return
        self.done.add("amp")
        self.is_ours = True
        self.region = self.torch.autocast("cuda", getattr(self.torch, DTYPES[self.values["amp"]]))
        self.is_ours = False
        self.region.__enter__()

    def region_end(self):
        region, self.region = self.region, None
        if region is not None:
            region.__exit__(None, None, None)

    def batch_next(self, plain, iterator):
        self.region_end()
        return plain(iterator)

    # ---- backward ----

    def patch_backward(self):
        torch = self.torch
        self.replace(torch.Tensor, "backward", self.loss_backward)
        self.replace(torch.autograd, "backward", self.run_backward)
        self.replace(torch.autograd, "grad", self.run_backward)

    def loss_backward(self, plain, loss, *args, **named):
        self.region_end()
        return plain(self.scaled(loss), *args, **named)

    def run_backward(self, plain, *args, **named):
        """Modules that a checkpoint runs again are not called by the script."""
        Module = self.torch.nn.Module
        before = Module.__call__
        self.region_end()
        Module.__call__ = self.call_plain
        try:
            return plain(*args, **named)
        finally:
            Module.__call__ = before
            self.cache_empty("phase")

    def scaled(self, loss):
        if self.accumulates():
            loss = loss / self.parts
        if self.values.get("amp") == "fp16" and not self.script_scales and loss.is_cuda:
            if self.scaler is None:
                self.is_ours = True
                self.scaler = self.torch.amp.GradScaler("cuda")
                self.is_ours = False
            loss = self.scaler.scale(loss)
        return loss

    def accumulates(self):
        return self.parts > 1 and "accumulate" in self.done

    # ---- optimizers ----

    def patch_optimizers(self):
        optim = self.torch.optim
        self.replace(optim.Optimizer, "__init__", self.optimizer_init)
        self.replace(optim.Optimizer, "zero_grad", self.zero_grad)
        classes = [c for c in vars(optim).values() if isinstance(c, type) and issubclass(c, optim.Optimizer)]
        self.inits = {c: c.__init__ for c in classes if c is not optim.Optimizer}
        for c in self.inits:
            self.replace(c, "__init__", functools.partial(self.optimizer_make, c))

    def optimizer_make(self, made, plain, optimizer, params, *args, **named):
        if type(optimizer) is not made:  # a subclass calls it
            return plain(optimizer, params, *args, **named)
        if self.values.get("optimizer"):
            rate = args[0] if args else named.get("lr")
            made, named = self.optimizer_of(self.values["optimizer"])
            args = ()
            if rate is not None:
                named["lr"] = rate
            optimizer.__class__ = made
            self.done.add("optimizer")
        if self.values.get("foreach"):
            named = self.foreach_set(made, named)
        return self.inits[made](optimizer, params, *args, **named)

    def optimizer_of(self, value):
        optim = self.torch.optim
        return {"sgd": (optim.SGD, {}), "momentum": (optim.SGD, {"momentum": 0.9}), "adam": (optim.Adam, {}),
                "adamw": (optim.AdamW, {"weight_decay": 0.01})}[value]

    def foreach_set(self, made, named):
        import inspect

        if "foreach" not in inspect.signature(self.inits[made]).parameters:
            self.refuse("foreach", "%s has no `foreach`" % made.__name__)
            return named
        self.done.add("foreach")
        if named.get("fused"):
            self.refuse("foreach", "the script says fused=True, which goes before `foreach`")
            return named
        return dict(named, foreach=None if self.values["foreach"] == "auto" else False)

    def optimizer_init(self, plain, optimizer, *args, **named):
        plain(optimizer, *args, **named)
        made = type(optimizer)
        if not getattr(made.step, "is_watched", False):
            self.replace(made, "step", self.optimizer_step)
            made.step.is_watched = True

    def optimizer_step(self, plain, optimizer, *args, **named):
        if self.is_stepping:
            return plain(optimizer, *args, **named)
        self.region_end()
        if self.accumulates() and self.skipped.get(optimizer, 0) + 1 < self.parts:
            return self.step_leave(optimizer, *args, **named)
        self.is_stepping = True
        try:
            if self.scaler is None:
                result = plain(optimizer, *args, **named)
            else:
                result = self.scaler.step(optimizer, *args, **named)
                self.scaler.update()
        finally:
            self.is_stepping = False
        self.skipped.pop(optimizer, None)
        self.cache_empty("step")
        self.cache_empty("phase")
        return result

    def step_leave(self, optimizer, closure=None, **_):
        """A step that comes too early. Steps count, not backward passes: a script that accumulates itself makes more of
        them for each. Lightning's closure is forward and backward."""
        result = None
        if closure is not None:
            with self.torch.enable_grad():
                result = closure()
        self.skipped[optimizer] = self.skipped.get(optimizer, 0) + 1
        return result

    def zero_grad(self, plain, owner, *args, **named):
        self.region_end()
        if self.accumulates() and (self.skipped[owner] if owner in self.skipped else any(self.skipped.values())):
            return None
        if "zero-grad" in self.values:
            self.done.add("zero-grad")
            args, named = (), {"set_to_none": self.values["zero-grad"] == "none"}
        return plain(owner, *args, **named)

    def cache_empty(self, when):
        if self.values.get("empty-cache") == when:
            self.done.add("empty-cache")
            self.torch.cuda.empty_cache()

    # ---- batches ----

    def loader_make(self, plain, loader, dataset, *args, **named):
        """The batch size of the first DataLoader, and of all others that have the same."""
        size = args[0] if args else named.get("batch_size", 1)
        if size is None or named.get("batch_sampler") is not None:
            for toggle in "batch", "accumulate":
                if toggle in self.values and toggle not in self.done:  # else it may be of one that was changed
                    self.refuse(toggle, "a DataLoader of the script gets its batches from a sampler of its own")
            return plain(loader, dataset, *args, **named)
        if self.batch_size is None:
            self.batch_size = size
        if size == self.batch_size:
            if "batch" in self.values:
                size = int(self.values["batch"])
                self.done.add("batch")
            if self.parts > 1 and size % self.parts:
                self.refuse("accumulate", "a batch of %d cannot be split into %d equal parts" % (size, self.parts))
            elif self.parts > 1:
                size //= self.parts
                self.done.add("accumulate")
        named["batch_size"] = size
        return plain(loader, dataset, *args[1:], **named)


def attach(folder, torch, settings, module_of):
    """The toggles of this process; None: there are none."""
    values = values_of(settings)
    if not values:
        return None
    models = module_of(folder, "vramscope_models").Models(torch, values)
    toggles = Toggles(torch, values, models)
    models.refuse = toggles.refuse
    models.done = toggles.done
    return toggles
