"""tests/programs/toggles/hand.py - toggles that a script has written in by hand, from its arguments: amp=bf16 …

Without arguments the scripts of this folder are plain ones. With one they do what a user would write into them, so that
their events can be compared with those of the plain script to which vramscope applies the toggle from outside.
"""
import contextlib
import sys

import torch

values = dict(argument.split("=", 1) for argument in sys.argv[1:])
inplace = values.get("inplace") == "on"
scaler = torch.amp.GradScaler("cuda") if values.get("amp") == "fp16" else None
zero = {"set_to_none": False} if values.get("zero-grad") == "zeros" else {}
parts = int(values.get("accumulate", 1))


def autocast():
    if "amp" not in values:
        return contextlib.nullcontext()
    return torch.autocast("cuda", {"bf16": torch.bfloat16, "fp16": torch.float16}[values["amp"]])


def compiled(network):
    """After it has moved to the GPU."""
    return torch.compile(network) if values.get("compile") == "on" else network


def forward(network, *args, **named):
    if values.get("offload") != "activations" or not torch.is_grad_enabled():
        return network(*args, **named)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        return network(*args, **named)


def scale(loss):
    if parts > 1:
        loss = loss / parts
    return loss if scaler is None else scaler.scale(loss)


def step(optimizer):
    if scaler is None:
        optimizer.step()
    else:
        scaler.step(optimizer)
        scaler.update()
    if values.get("empty-cache") == "step":
        torch.cuda.empty_cache()


def optimizer(made, parameters, **named):
    if "optimizer" in values:
        made, named = {"sgd": (torch.optim.SGD, {"lr": named["lr"]}),
                       "momentum": (torch.optim.SGD, {"lr": named["lr"], "momentum": 0.9}),
                       "adam": (torch.optim.Adam, {"lr": named["lr"]}),
                       "adamw": (torch.optim.AdamW, {"lr": named["lr"], "weight_decay": 0.01})}[values["optimizer"]]
    if values.get("foreach") == "off":
        named = dict(named, foreach=False)
    return made(parameters, **named)


def block(module, *args):
    """A block of the network, called as it is or under a checkpoint."""
    if "checkpoint" not in values:
        return module(*args)
    named = {"use_reentrant": values.get("checkpoint-impl") == "reentrant"}
    if values["checkpoint"] == "selective":
        aten = torch.ops.aten
        saved = [aten.mm.default, aten.addmm.default, aten.bmm.default, aten.convolution.default,
                 aten._scaled_dot_product_flash_attention.default,
                 aten._scaled_dot_product_efficient_attention.default]
        named["context_fn"] = lambda: torch.utils.checkpoint.create_selective_checkpoint_contexts(saved)
    return torch.utils.checkpoint.checkpoint(module, *args, **named)


def batch(size):
    return int(values.get("batch", size)) // parts


def half(tensor):
    return tensor.half() if values.get("half") == "on" else tensor


def model(network, frozen):
    """Before it moves to the GPU. frozen: the part that `freeze` names."""
    if "freeze" in values:
        for p in frozen.parameters():
            p.requires_grad_(False)
    return network.half() if values.get("half") == "on" else network
