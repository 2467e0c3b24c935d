# lang/prelude/placement.py - a placement of checkpoints that the planner found, applied to a model; and marks at the
# calls of modules, with which the planner measures them.
#
# For:       toggles.py.
# Invariant: a region calls the same modules with the same tensors as the net would. Its first module runs all of them
#            under one checkpoint; the calls of the others, which the net makes afterwards, return their input.
#
# The text of a placement is described in lang/run/plan_chain.h.
import torch
import torch.nn as nn
import torch.utils.checkpoint


# ---- regions ----


class _Slot:
    # a module with calls in regions. plain: its forward. actions: for each call inside the parent what it does
    # (None: nothing but return its input). The next call of the module runs its forward itself where `is_direct`.
    def __init__(self, module):
        self.module = module
        self.plain = module.forward
        self.actions = {}
        self.is_repeated = False
        self.next = 0
        self.is_direct = False


def _dispatched(slot):
    def forward(*args, **kwargs):
        if slot.is_direct:
            slot.is_direct = False
            return slot.plain(*args, **kwargs)
        number = slot.next
        if slot.is_repeated:
            slot.next = number + 1
        if number not in slot.actions:
            return slot.plain(*args, **kwargs)
        action = slot.actions[number]
        if action is None:
            return args[0]
        function, context_fn = action
        if context_fn is None:
            return torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=False, **kwargs)
        return torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=False, context_fn=context_fn, **kwargs)

    return forward


def _call_of(slot):
    def call(*args, **kwargs):
        slot.is_direct = True
        return slot.module(*args, **kwargs)

    return call


def _chain_of(parts):
    def region(input):
        for part in parts:
            input = part(input)
        return input

    return region


def _checkpoint_of(function, context_fn):
    def part(input):
        if context_fn is None:
            return torch.utils.checkpoint.checkpoint(function, input, use_reentrant=False)
        return torch.utils.checkpoint.checkpoint(function, input, use_reentrant=False, context_fn=context_fn)

    return part


def _restarted(plain, slots):
    # the forward of a module that calls others several times: their calls are counted from its beginning
    def forward(*args, **kwargs):
        for slot in slots:
            slot.next = 0
        return plain(*args, **kwargs)

    return forward


class _Reader:
    # the words of a text, and the slots of the modules that it names
    def __init__(self, model, text):
        self.words = text.replace("(", "( ").replace(")", " )").split()
        self.at = 0
        self.modules = {name: m for name, m in model.named_modules()}
        self.slots = {}

    def slot(self, word):
        path = word.split("#")[0]
        if path not in self.slots:
            self.slots[path] = _Slot(self.modules[path])
        if "#" in word:
            self.slots[path].is_repeated = True
        return self.slots[path]

    def region(self):
        # reads up to the closing parenthesis; returns the function of the region, its context_fn or None, and its
        # calls: (slot, number)
        parts = []
        calls = []
        context_fn = None
        if self.words[self.at] == "selective:":
            self.at = self.at + 1
            context_fn = torch.utils.checkpoint._save_compute_intensive
        while self.words[self.at] != ")":
            word = self.words[self.at]
            self.at = self.at + 1
            if word == "(":
                inner, inner_context_fn, inner_calls = self.region()
                parts.append(_checkpoint_of(inner, inner_context_fn))
                calls.extend(inner_calls)
            else:
                slot = self.slot(word)
                parts.append(_call_of(slot))
                calls.append((slot, int(word.split("#")[1]) if "#" in word else 0))
        self.at = self.at + 1
        return parts[0] if len(parts) == 1 else _chain_of(parts), context_fn, calls


def apply(model, text):
    reader = _Reader(model, text)
    while reader.at < len(reader.words):
        reader.at = reader.at + 1
        function, context_fn, calls = reader.region()
        first, number = calls[0]
        first.actions[number] = (function, context_fn)
        for slot, number in calls[1:]:
            slot.actions[number] = None
    parents = {}
    for path, slot in reader.slots.items():
        if slot.is_repeated:
            parents.setdefault(".".join(path.split(".")[:-1]), []).append(slot)
    for path, slots in parents.items():
        parent = reader.modules[path]
        parent.forward = _restarted(parent.forward, slots)
    for path, slot in reader.slots.items():
        slot.plain = slot.module.forward
        slot.module.forward = _dispatched(slot)


# ---- marks ----


def _only_tensor(args, kwargs):
    if len(args) == 1 and len(kwargs) == 0 and isinstance(args[0], torch.Tensor):
        return args[0]
    return None


def _marked(path, plain):
    def forward(*args, **kwargs):
        torch._plan_enter(path, _only_tensor(args, kwargs))
        output = plain(*args, **kwargs)
        torch._plan_exit(_only_tensor(args, kwargs), output if isinstance(output, torch.Tensor) else None)
        return output

    return forward


def mark(model):
    for path, m in model.named_modules():
        if not isinstance(m, (nn.ModuleList, nn.ModuleDict)):
            m.forward = _marked(path, m.forward)
