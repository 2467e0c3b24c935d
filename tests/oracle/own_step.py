"""tests/oracle/own_step.py - the phases of a step that the net's own train_step makes:
docs/guide/net-language.md, "A step of its own".

PyTorch's own entries are wrapped while train_step runs: the call of a module, backward(), step(), zero_grad(),
autocast. A wrapper holds what its caller holds for the time of the call, and nothing longer.
"""
import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim import optimizer as optim

from toggles import AMP_DTYPE

PHASE = {"forward": "forward", "scale": "backward", "backward": "backward", "grad": "backward",
         "optimizer": "optimizer", "zero_grad": "zero_grad"}


def is_device(value):
    """Whether an argument of Tensor.to() names the device."""
    if isinstance(value, torch.Tensor):
        value = value.device
    return isinstance(value, (str, torch.device)) and str(value).startswith("cuda")


class OwnStep:
    """A context for each call of train_step; close() afterwards ends the step's last phase."""

    def __init__(self, net, optimizer, toggles, device, observer):
        self.toggles, self.device, self.observer = toggles, device, observer
        self.net, self.kept, self.handles = net, [], []
        self.made = [type(o) for o in (optimizer if isinstance(optimizer, (tuple, list)) else [optimizer])
                     if not isinstance(o, Optimizer) and hasattr(o, "step")]

    # ---- phases ----

    def switch(self, phase):
        if phase == self.phase:
            return
        if self.phase == "loss":
            self.observer.loss_ended(phase == "backward")
        self.observer.phase(self.phase)
        self.phase = phase

    def begin(self, part):
        """Whether the part has begun: it is not within another one that it belongs to."""
        if self.active:
            around = PHASE[self.active[-1][0]]
            if around in (PHASE[part], "backward", "zero_grad"):
                return False
        if part == "forward":
            self.enter_region()
        elif part != "zero_grad":
            self.leave_region()
        if part == "scale":
            self.switch("backward")
            return False
        self.active.append((part, self.phase))
        self.switch(PHASE[part])
        if part == "backward":
            self.is_pending = False
        return True

    def end(self):
        part, before = self.active.pop()
        around = PHASE[self.active[-1][0]] if self.active else None
        if part == "forward":
            self.is_pending = True
        if part != "forward" and around == "forward":
            self.switch("forward")
        elif self.is_pending:
            self.switch("loss")
        elif around:
            self.switch(around)
        elif part == "grad" or part == "zero_grad" and before == "data":
            self.switch(before)

    # ---- the toggle amp ----

    def enter_region(self):
        if self.toggles["amp"] != "off" and self.nesting == 0 and self.region is None:
            self.region = torch.autocast(self.device, dtype=AMP_DTYPE[self.toggles["amp"]])
            self.plain_enter(self.region)

    def leave_region(self):
        if self.region is not None:
            self.plain_exit(self.region, None, None, None)
        self.region = None

    # ---- wrappers ----

    def put(self, owner, name, function):
        inherited = isinstance(owner, type) and name not in owner.__dict__
        self.kept.append((owner, name, None if inherited else getattr(owner, name)))
        setattr(owner, name, function)

    def wrap(self, owner, name, part, if_so=lambda *args: True):
        plain = getattr(owner, name)

        def call(*args, **kwargs):
            if not (if_so(*args) and self.begin(part)):
                return plain(*args, **kwargs)
            result = plain(*args, **kwargs)
            self.end()
            return result

        self.put(owner, name, call)

    def wrap_copy(self, name):
        """A copy from the host to the device begins `data`, unless a forward has had no backward() yet."""
        plain = getattr(torch.Tensor, name)

        def copy(this, *args, **kwargs):
            if (this.device.type == "cpu" and not self.active and not self.is_pending
                    and (name == "cuda" or any(map(is_device, [*args, *kwargs.values()])))):
                self.switch("data")
            return plain(this, *args, **kwargs)

        self.put(torch.Tensor, name, copy)

    def wrap_zero_grad(self, owner):
        plain = owner.zero_grad

        def zero_grad(this, set_to_none=self.toggles["zero-grad"] == "none"):
            has_begun = self.begin("zero_grad")
            plain(this, set_to_none)
            if has_begun:
                self.end()

        self.put(owner, "zero_grad", zero_grad)

    def wrap_autocast(self):
        self.plain_enter, self.plain_exit = torch.autocast.__enter__, torch.autocast.__exit__

        def enter(this):
            if not self.active:
                self.leave_region()
            self.nesting += 1
            return self.plain_enter(this)

        def leave(this, *args):
            self.nesting -= 1
            return self.plain_exit(this, *args)

        self.put(torch.autocast, "__enter__", enter)
        self.put(torch.autocast, "__exit__", leave)

    def step_begins(self, *args):
        self.steps.append(self.begin("optimizer"))

    def step_ends(self, *args):
        if self.steps.pop():
            self.end()

    def __enter__(self):
        self.phase, self.active, self.is_pending = "data", [], False
        self.region, self.nesting, self.steps = None, 0, []
        self.wrap(nn.Module, "__call__", "forward", lambda m, *args: next(m.parameters(), None) is not None)
        self.wrap(torch.Tensor, "backward", "backward")
        self.wrap(torch.autograd, "backward", "backward")
        self.wrap(torch.autograd, "grad", "grad")
        self.handles = [optim.register_optimizer_step_pre_hook(self.step_begins),
                        optim.register_optimizer_step_post_hook(self.step_ends)]
        self.wrap_copy("to")
        self.wrap_copy("cuda")
        self.wrap_zero_grad(Optimizer)
        self.wrap_zero_grad(nn.Module)
        for made in self.made:
            self.wrap(made, "step", "optimizer")
            self.wrap(made, "zero_grad", "zero_grad")
        for name, part in (("scale", "scale"), ("step", "optimizer"), ("update", "optimizer")):
            self.wrap(torch.amp.GradScaler, name, part, lambda scaler, *args: scaler.is_enabled())
        self.wrap_autocast()
        return self

    def __exit__(self, *failure):
        for handle in self.handles:
            handle.remove()
        while self.kept:
            owner, name, plain = self.kept.pop()
            if plain is None:
                delattr(owner, name)
            else:
                setattr(owner, name, plain)
        self.leave_region()

    def close(self):
        if self.phase == "loss":
            self.observer.loss_ended(False)
        self.observer.phase(self.phase)
