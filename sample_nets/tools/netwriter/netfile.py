"""sample_nets/tools/netwriter/netfile.py - the net file as a whole: classes, model(), batch(), loss(), optimizer() and
defaults."""
import torch

from .body import Body, path_text
from .classes import Classes, Functions, class_lines
from .text import Holes, fill, literal, wrapped

_OPTIMIZERS = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad")


def _host(t, n):
    """An expression for a batch's tensor of this shape; the first dimension is n where it is the example's batch."""
    shape = ", ".join("n" if i == 0 and s == n else str(int(s)) for i, s in enumerate(t.shape))
    if t.is_floating_point():
        return "torch.randn(%s%s)" % (shape or "()", "" if t.dtype == torch.float32 else ", dtype=%s" % t.dtype)
    if t.dtype == torch.bool:
        return "torch.ones(%s, dtype=torch.bool)" % (shape or "()")
    high = int(t.max()) + 1 if t.numel() and t.device.type != "meta" else 2
    return "torch.randint(0, %d, (%s,)%s)" % (max(high, 2), shape,
                                             "" if t.dtype == torch.int64 else ", dtype=%s" % t.dtype)


def _batch_text(value, n):
    if isinstance(value, torch.Tensor):
        return _host(value, n)
    if isinstance(value, dict):
        return "{%s}" % ", ".join('"%s": %s' % (k, _batch_text(v, n)) for k, v in value.items() if v is not None)
    if isinstance(value, (tuple, list)):
        return "(%s%s)" % (", ".join(_batch_text(v, n) for v in value), "," if len(value) == 1 else "")
    return literal(value)


def batch_lines(inputs, target, n):
    return ["def batch(n):", "    return %s, %s" % (_batch_text(inputs, n), _batch_text(target, n))]


def loss_lines(scope):
    holes = Holes()
    _, lines = Body(scope, holes).write()
    words = [literal(v) for _, v, _ in holes.found]
    return ["def loss(output, target):"] + ["    " + fill(line, words) for line in lines]


def optimizer_lines(optimizer):
    """def optimizer(model) for an instance of torch.optim with one group of parameters."""
    name = type(optimizer).__name__
    if name not in _OPTIMIZERS or len(optimizer.param_groups) != 1:
        raise ValueError("the optimizer must be one of %s with one group of parameters; write def optimizer(model) "
                         "into the net file instead" % ", ".join(_OPTIMIZERS))
    fresh = type(optimizer)([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    words = ["lr=%s" % literal(float(optimizer.param_groups[0]["lr"]))]
    for key, value in optimizer.param_groups[0].items():
        if key not in ("params", "lr", "initial_lr") and value != fresh.param_groups[0].get(key):
            words.append("%s=%s" % (key, literal(value)))
    return ["def optimizer(model):", "    return torch.optim.%s(model.parameters(), %s)" % (name, ", ".join(words))]


def _object(path, model):
    return "net" + path_text(model, path)[len("self"):] if path else "net"


def model_lines(model, root):
    """def model(): the root's class, and what constructors do not say: ties, dtypes, what is frozen or evaluates."""
    lines = []
    first = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        if id(p) in first:
            lines.append("%s = %s" % (_object(name, model), _object(first[id(p)], model)))
        first.setdefault(id(p), name)
    lines += _dtype_lines(model)
    for name, p in model.named_parameters():
        if not p.requires_grad and p.is_floating_point():
            lines.append("%s.requires_grad_(False)" % _object(name, model))
    for name, m in model.named_modules():
        parent = model.get_submodule(name.rpartition(".")[0]) if name else None
        if not m.training and (parent is None or parent.training):
            lines.append("%s.eval()" % _object(name, model))
    if not lines:
        return ["def model():", "    return %s()" % root]
    return ["def model():", "    net = %s()" % root] + ["    " + line for line in lines] + ["    return net"]


def _dtype_lines(model):
    """Moves the whole model to its most frequent dtype, and each tensor that has another one after that."""
    method = {torch.float16: "half", torch.bfloat16: "bfloat16", torch.float64: "double", torch.float32: "float"}
    floating = [p.dtype for p in model.parameters() if p.is_floating_point()]
    most = max(set(floating), key=floating.count) if floating else torch.float32
    lines = [] if most == torch.float32 else ["net.%s()" % method[most]]
    for name, p in model.named_parameters():
        if p.is_floating_point() and p.dtype != most:
            lines.append("%s.data = %s.data.%s()" % ((_object(name, model),) * 2 + (method[p.dtype],)))
    for name, b in model.named_buffers():
        if b.is_floating_point() and b.dtype != most:
            lines.append("%s = %s.%s()" % ((_object(name, model),) * 2 + (method[b.dtype],)))
    return lines


def file_lines(about, recorder, later, evaluated, originals, tail):
    """
    All lines of the net file. `later`: of a second run, or None; `tail`: batch(), loss(), optimizer(), each a list of
    lines; settings: dict.
    """
    functions = Functions()
    functions.add(recorder.functions)
    functions.add(later.functions if later else ())
    functions.add(evaluated[2] if evaluated else ())
    classes = Classes(recorder, later, evaluated, originals)
    groups = classes.build()
    root = classes.group_of[recorder.model][0]
    body = functions.lines()
    for group in groups:
        body += class_lines(group) + ["", ""]
    body += model_lines(recorder.model, root.name) + ["", ""]
    for lines in tail:
        body += lines + ["", ""]
    text = "\n".join(body)
    imports = ["import torch", "import torch.nn as nn"]
    if "F." in text:
        imports.append("import torch.nn.functional as F")
    about = about + ["# " + note for note in classes.notes]
    return wrapped(about + imports + ["", ""] + body)
