"""tracer/python/vramscope_own.py - notes what the script itself says where a toggle could say something else: batch
size, optimizer, foreach, autocast, torch.compile.

So a what-if starts from the script's own values, and the toggles of a trace show them. What no single call of torch
says (which modules are frozen, what is checkpointed) is not known, and not noted.

Nothing here may allocate, keep an object alive, or change a signature: libraries inspect those of DataLoader.
"""
import functools

OPTIMIZERS = {"Adam": "adam", "AdamW": "adamw"}
DTYPES = {"bfloat16": "bf16", "float16": "fp16"}


class Own:
    """as_part_of: of vramscope_events.py."""

    def __init__(self, torch, as_part_of):
        self.torch = torch
        self.as_part_of = as_part_of
        self.found = {}  # by toggle: values, in the order in which they were met

    def add(self, toggle, value):
        values = self.found.setdefault(toggle, [])
        if value not in values:
            values.append(value)

    def after(self, owner, name, note):
        """`note` gets the object when its method `name` has returned."""
        plain = getattr(owner, name)

        def method(self, *args, **kwargs):
            result = plain(self, *args, **kwargs)
            try:
                note(self)
            except Exception:  # what is not noted is not known
                pass
            return result

        setattr(owner, name, functools.wraps(plain)(self.as_part_of(plain, method)))

    def watch(self):
        self.after(self.torch.utils.data.DataLoader, "__init__", self.loader)
        self.after(self.torch.optim.Optimizer, "__init__", self.optimizer)
        self.after(self.torch.amp.autocast_mode.autocast, "__enter__", self.region)

    def loader(self, loader):
        """The first one with a batch size, as `batch` changes it."""
        if isinstance(loader.batch_size, int) and "batch" not in self.found:
            self.add("batch", str(loader.batch_size))

    def optimizer(self, optimizer):
        made = type(optimizer)
        defaults = optimizer.defaults
        if made is self.torch.optim.SGD:
            self.add("optimizer", "momentum" if defaults.get("momentum") else "sgd")
        elif made.__module__.startswith("torch.optim."):
            self.add("optimizer", OPTIMIZERS.get(made.__name__, made.__name__))
        else:
            self.add("optimizer", made.__name__)
        if defaults.get("fused"):
            self.add("foreach", "fused")
        elif "foreach" in defaults:
            self.add("foreach", "off" if defaults["foreach"] is False else "auto")

    def region(self, region):
        if region.device == "cuda" and region._enabled:
            self.add("amp", DTYPES.get(str(region.fast_dtype)[6:], str(region.fast_dtype)[6:]))

    def lines(self, is_compiled):
        """A line for each toggle: its name and the values, commas between. is_compiled: None where it is not known."""
        values = {"amp": ["off"], **self.found}
        if is_compiled is not None:
            values["compile"] = ["on" if is_compiled else "off"]
        return ["%s %s" % (toggle, ",".join(found)) for toggle, found in sorted(values.items())]
