#!/usr/bin/env python3
# sample_nets/tools/torch2net.py - the command: its options, the model it makes, the net file it writes.
"""Writes a net file of vramscope from a PyTorch model and example inputs.

    python torch2net.py torchvision.models:resnet18 --input 8,3,224,224 -o net.py
    python torch2net.py transformers:GPT2LMHeadModel --config transformers:GPT2Config \\
        --set use_cache=False --input input_ids=int64:4,128:50257 --loss lm -o net.py

or, where the model is made by code of your own:

    import torch2net
    torch2net.write(model, torch.randn(8, 3, 224, 224), "net.py", loss=my_loss, optimizer=my_optimizer)

Runs in your own PyTorch, on the CPU, without computing: the model is copied to the device `meta` and run once with
every op recorded into torch.fx graphs, one for each module. The file that comes out has the model's own modules, names
of parameters and lifetimes of tensors. What the net language does not have is refused by module and op.
"""
import argparse
import importlib
import inspect
import os
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    sys.exit("torch2net: %s: it runs in the Python that your model runs in, with PyTorch 2.1 or newer" % error)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from netwriter import netfile, record  # noqa: E402
from netwriter.scope import Unsupported, tensors_of  # noqa: E402
from netwriter.text import Inexpressible  # noqa: E402

REFUSED = (Unsupported, Inexpressible, ValueError)


def _on_meta(value):
    if isinstance(value, torch.Tensor):
        with torch.inference_mode():
            twin = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
        twin.net_host = False
        if not value.is_floating_point() and value.device.type != "meta":
            twin.net_real = value.detach().cpu()
        return twin
    if isinstance(value, dict):
        return {k: _on_meta(v) for k, v in value.items() if v is not None}
    if isinstance(value, (tuple, list)):
        return type(value)(_on_meta(v) for v in value)
    return value


def _record(model, inputs, training, zeros, inline):
    """(recorder, result, originals) of one run; `inputs` as batch() gives them. Adds to `inline`, see Recorder."""
    refusal = None
    while True:
        try:
            return _record_once(model, inputs, training, zeros, inline)
        except record.Inline as found:
            inline.add(found.name)
            refusal = refusal or found.refusal
        except Unsupported:
            if refusal is None:
                raise
            raise refusal from None


def _record_once(model, inputs, training, zeros, inline):
    copy, originals = record.copy_on_meta(model)
    if not training:
        copy.eval()
    return *_run(copy, inputs, zeros, inline), originals


def _run(copy, inputs, zeros, inline):
    recorder = record.Recorder(copy, zeros, inline)
    given = _on_meta(inputs)
    if isinstance(given, dict):
        result = recorder.run((), given, "inputs")
    elif isinstance(given, tuple):
        result = recorder.run(given, {}, "inputs")
    else:
        result = recorder.run((given,), {}, None)
    return recorder, result


def _run_again(recorder, inputs):
    """The run after `recorder`'s, where tensors are kept in modules: they may be used instead of made."""
    try:
        later, _ = _run(recorder.model, inputs, recorder.zeros, recorder.inline)
    except record.Inline as found:
        raise found.refusal from None
    later.restore()
    recorder.restore()
    return later


def default_target(output, n):
    """What F.cross_entropy takes for this output."""
    if not isinstance(output, torch.Tensor) or output.dim() not in (2, 4) or not output.is_floating_point():
        raise ValueError("the model returns %s, for which there is no usual loss: give loss= and target="
                         % (list(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__))
    target = torch.zeros(output.shape[:1] + output.shape[2:], dtype=torch.int64)
    target.flatten()[0] = output.shape[1] - 1
    return target


def convert(model, example_inputs, target=None, loss=None, optimizer=None, title=None, zeros=False):
    """The text of the net file. See write()."""
    inputs = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else example_inputs
    if isinstance(inputs, tuple) and len(inputs) == 1:
        inputs = inputs[0]
    inline = set()
    recorder, result, originals = _record(model, inputs, True, zeros, inline)
    later = _run_again(recorder, inputs) if recorder.kept else None
    problems = recorder.problems + (later.problems if later else [])
    if problems:
        raise Unsupported("\n".join(dict.fromkeys(problems)))
    n = tensors_of(inputs)[0].shape[0]
    if target is None:
        target = default_target(result, n) if loss is None else torch.zeros(n, dtype=torch.int64)
    tail = [netfile.batch_lines(inputs, target, n)]
    if isinstance(loss, str):
        tail.append(["def loss(output, target):", "    return " + loss])
    elif loss is not None:
        tail.append(netfile.loss_lines(recorder.run_loss(loss, result, _on_meta(target))))
        if recorder.problems:
            raise Unsupported("\n".join(recorder.problems))
    del result
    if isinstance(optimizer, torch.optim.Optimizer):
        tail.append(netfile.optimizer_lines(optimizer))
    settings = ["batch=%d" % n] + (["optimizer=\"%s\"" % optimizer] if isinstance(optimizer, str) else [])
    tail.append(["defaults = dict(%s)" % ", ".join(settings)])
    try:
        before = set(inline)
        again, _, _ = _record(model, inputs, False, zeros, inline)
        same = not again.problems and inline == before
        evaluated = (dict(again.model.named_modules()), again.calls, again.functions) if same else None
    except REFUSED:
        evaluated = None
    name = title or "%s.%s" % (type(model).__module__, type(model).__qualname__)
    about = ["# %s, written by torch2net.py from PyTorch %s." % (name, torch.__version__.split("+")[0]),
             "# Lesson: where a model of your own puts its memory."]
    if recorder.reads:
        places = ", ".join(sorted(recorder.reads))
        about.append("# Decided by the example's values, as they are asked for at %s." % places)
    if evaluated is None:
        about.append("# Recorded in training mode only: grad=eval would not be what the model does then.")
    lines = netfile.file_lines(about, recorder, later, evaluated, originals, tail)
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n"


def check(text, model, name="the net file"):
    """Runs the file's model() and compares its parameters and buffers with the model's."""
    space = {}
    exec(compile(text, name, "exec"), space)
    with torch.device("meta"):
        net = space["model"]()
    for what in ("named_parameters", "named_buffers"):
        ours = [(n, tuple(t.shape), t.dtype) for n, t in getattr(net, what)()]
        theirs = [(n, tuple(t.shape), t.dtype) for n, t in getattr(model, what)()]
        for a, b in zip(ours, theirs):
            if a != b:
                raise Inexpressible("%s has %s where the model has %s" % (name, a, b))
        if len(ours) != len(theirs):
            raise Inexpressible("%s has %d %s, the model %d" % (name, len(ours), what[6:], len(theirs)))
    return sum(p.numel() for p in net.parameters())


def write(model, example_inputs, path="net.py", target=None, loss=None, optimizer=None, title=None, zeros=False):
    """Writes the net file and gives the number of its parameters.

    example_inputs  a tensor; a tuple of arguments; or a dict of keyword arguments. The first dimension of the first one
                    is the batch. Where there are several, the net file's model takes them as one object.
    target          an example of what the loss compares with; by default class indices for F.cross_entropy
    loss            a function of (output, target), recorded like the model; or its body as text
    zeros           a condition on a tensor's values sees zeros instead of the example's
    optimizer       "sgd", "momentum", "adam", "adamw", or an instance of torch.optim with one group of parameters
    Raises Unsupported, Inexpressible or ValueError with a text that names the module and the op.
    """
    text = convert(model, example_inputs, target, loss, optimizer, title, zeros)
    count = check(text, model)
    with open(path, "w") as f:
        f.write(text)
    return count


# ---- the command ----


def _found(spec):
    module, _, name = spec.partition(":")
    if not name:
        raise ValueError("%s: write MODULE:NAME, as in torchvision.models:resnet18" % spec)
    try:
        at = importlib.import_module(module)
        for part in name.split("."):
            at = getattr(at, part)
    except (AttributeError, ModuleNotFoundError) as error:
        raise ValueError("%s: %s" % (spec, error)) from error
    return at


def _setting(word):
    key, _, value = word.partition("=")
    try:
        return key, eval(value, {"__builtins__": {}}, {"True": True, "False": False, "None": None})
    except (NameError, SyntaxError):
        return key, value


def _input(word):
    """[NAME=][DTYPE:]SIZES[:HIGH]: 8,3,224,224 or input_ids=int64:4,128:50257."""
    name, _, rest = word.rpartition("=")
    words = rest.split(":")
    dtype = torch.float32 if words[0][:1].isdigit() else getattr(torch, words.pop(0), None)
    if not isinstance(dtype, torch.dtype) or not words or not all(s.isdigit() for s in ",".join(words).split(",")):
        raise ValueError("%s: write [NAME=][DTYPE:]SIZES[:HIGH], as in 8,3,224,224 or "
                         "input_ids=int64:4,128:50257" % word)
    shape = [int(s) for s in words[0].split(",")]
    if dtype.is_floating_point or dtype == torch.bool:
        return name, torch.zeros(shape, dtype=dtype)
    value = torch.zeros(shape, dtype=dtype)
    value.view(-1)[0] = (int(words[1]) if len(words) > 1 else 2) - 1
    return name, value


def _language_loss(output, target):
    logits = output["logits"] if isinstance(output, dict) else output
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


_LOSSES = {"lm": _language_loss, "mse": F.mse_loss, "cross_entropy": None}


def main(words=None):
    head, _, examples = __doc__.partition("\n\n")
    p = argparse.ArgumentParser(description=head, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", help="MODULE:NAME of a class or function that makes the model, or of a model")
    p.add_argument("--input", action="append", required=True, help="[NAME=][DTYPE:]SIZES[:HIGH]; once for each input")
    p.add_argument("--target", help="[DTYPE:]SIZES[:HIGH] of what the loss compares with")
    p.add_argument("--loss", help="cross_entropy (default), mse, lm, MODULE:NAME, or an expression of output and "
                                  "target")
    p.add_argument("--optimizer", choices=("sgd", "momentum", "adam", "adamw"),
                   help="the optimizer that the net file sets (left out: none; choose it with record's --optimizer)")
    p.add_argument("--config", help="MODULE:NAME of a configuration to make the model of")
    p.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                   help="an argument of the model or its configuration")
    p.add_argument("-o", "--output", default="net.py", help="the net file to write (default net.py)")
    given = p.parse_args(words)
    sys.path.insert(0, os.getcwd())  # a module of the user's own, as `python -m` finds it
    try:
        settings = dict(_setting(w) for w in given.set)
        made = _found(given.model)
        if given.config:
            made = made(_found(given.config)(**settings))
        elif not isinstance(made, torch.nn.Module):
            made = made(**settings)
        inputs = [_input(w) for w in given.input]
        inputs = dict(inputs) if inputs[0][0] else tuple(t for _, t in inputs)
        target = _input(given.target)[1] if given.target else None
        loss = given.loss
        if loss in _LOSSES:
            loss = _LOSSES[loss]
            if given.loss == "lm" and target is None:
                target = next(iter(inputs.values())) if isinstance(inputs, dict) else inputs[0]
        elif loss and ":" in loss and " " not in loss:
            loss = _found(loss)
        made.train()
        count = write(made, inputs, given.output, target, loss, given.optimizer, given.model)
    except REFUSED as error:
        print("torch2net: %s" % error, file=sys.stderr)
        return 1
    print("%s: %s parameters" % (given.output, format(count, ",")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
