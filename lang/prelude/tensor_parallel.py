# lang/prelude/tensor_parallel.py - parallelize_module() of linear layers in one of `world` processes.
#
# For:       train.py; docs/internals/tensor-parallel.md has what is split and how it was measured.
# Invariant: between the layers of a plan tensors are those of this process alone, as with use_local_output=True, so
#            only the layers differ from a net's. What each allocates, and in which order, is what PyTorch 2.15's
#            DTensor does. No data is sent: a sum over all processes is assumed to be `world` times this one's.
import torch
import torch.nn as nn

import _distributed as distributed

_COLWISE = "colwise"
_ROWWISE = "rowwise"
_OTHER = "for other plans record the script itself: vramscope record --gpu h100 --world 8 -- python3 train.py"


def check(net, settings):
    # refuse what is not known to be equal to PyTorch's, before anything is on the device
    if int(settings["rank"]) >= settings["world"]:
        raise ValueError(f"rank={settings['rank']}: the ranks of world={settings['world']} are 0 to "
                         f"{settings['world'] - 1}")
    if settings["world"] == 1:
        raise ValueError("world=1: with shard=tp one process has all parts; set world=2 or more")
    if torch._rank_count() > 0:
        raise ValueError("shard=tp: several processes cannot train with it; use shard=fsdp or shard=ddp")
    if hasattr(net, "optimizer") or hasattr(net, "train_step") and settings["grad"] == "train":
        raise ValueError("shard=tp: a net with its own optimizer() or train_step is not supported; leave them out")
    if settings["amp"] == "fp16" and settings["grad"] == "train":
        raise ValueError("amp=fp16: a GradScaler with shard=tp is not supported; use amp=bf16")
    for name in ("fuse", "quantize"):
        if settings[name] != "off":
            raise ValueError(f"{name}={settings[name]}: together with shard=tp it is not supported yet")
    if settings["offload"] != "off":
        raise ValueError(f"offload={settings['offload']}: save_on_cpu() of a layer that is split got mixed "
                         "torch.Tensor and DTensor")
    if settings["checkpoint"] == "auto" or settings["checkpoint"].startswith("auto:"):
        raise ValueError(f"checkpoint={settings['checkpoint']}: placements are not planned for shard=tp yet; use "
                         "checkpoint=blocks")
    if settings["torch"] != "2.15":
        raise ValueError(f"torch={settings['torch']}: shard=tp is known of PyTorch 2.15 alone")
    if torch._has_data():
        torch._warn("shard=tp: the parts of the other processes are not there, and this one's are used in their place; "
                    "so the losses are not those of a training")


def _check_optimizer(model, split, settings):
    # all of torch.optim's ops over lists refuse them
    if settings["grad"] != "train" or settings["foreach"] == "off":
        return
    for name, p in model.named_parameters():
        if p.requires_grad and p not in split:
            raise ValueError(f"foreach={settings['foreach']}: the optimizer got mixed torch.Tensor and DTensor: {name} "
                             "is not split; set foreach=off, or name all layers in tp-plan")


# ---- what processes do to a tensor ----


def _summed(t, world):
    result = torch.empty(t.shape, dtype=t.dtype, device=t.device)
    torch._set_category(result, "other")
    result.copy_(t).mul_(world)
    distributed.note_all_reduce(t.numel() * t.element_size(), world)
    return result


class _Replicated(torch.autograd.Function):
    # DTensor.from_local(t, Replicate()): each process has a part of the gradient
    @staticmethod
    def forward(ctx, t, world):
        ctx.world = world
        return t

    @staticmethod
    def backward(ctx, grad):
        return _summed(grad, ctx.world), None


class _Reduced(torch.autograd.Function):
    # redistribute() from Partial() to Replicate(): each process has the whole gradient
    @staticmethod
    def forward(ctx, t, world):
        return _summed(t, world)

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class _Local(torch.autograd.Function):
    # DTensor.to_local(): a view that nobody may overwrite
    @staticmethod
    def forward(ctx, t):
        return t

    @staticmethod
    def backward(ctx, grad):
        return grad


# ---- layers ----


def _colwise(m, world):
    def forward(input):
        input = _Replicated.apply(input, world)
        return _Local.apply(nn.functional.linear(input, m.weight, m.bias))

    return forward


def _rowwise(m, world):
    def forward(input):
        output = nn.functional.linear(input, m.weight, m.bias)
        return _Local.apply(_Reduced.apply(output, world))

    return forward


def _part(p, name, dim, world, rank):
    # all parts exist before one of them is scattered to this process
    if p.shape[dim] % world != 0:
        raise ValueError(f"shard=tp: dimension {dim} of {name}, {p.shape[dim]}, does not divide into world={world} "
                         "equal parts, which a layer that is split must")
    parts = [part.contiguous() for part in p.detach().chunk(world, dim)]
    mine = torch.empty_like(parts[0])
    mine.copy_(parts[rank])
    size = mine.numel() * mine.element_size()
    for i in range(world - 1 if rank == 0 else 1):
        torch._collective("ncclSend" if rank == 0 else "ncclRecv", size, size if rank == 0 else 0)
    while len(parts) > 0:
        parts.pop()
    part = nn.Parameter(mine, requires_grad=p.requires_grad)
    torch._set_category(part, "parameter")
    torch._set_name(part, name)
    return part


def _split(m, path, style, world, rank):
    # returns the parameters that are DTensors from now on
    if style == _COLWISE:
        whole = [p for name, p in m.named_parameters()]
        for name, p in list(m.named_parameters()):
            setattr(m, name, _part(p, path + "." + name, 0, world, rank))
        del p
        while len(whole) > 0:
            whole.pop(0)
        m.forward = _colwise(m, world)
    else:
        m.weight = _part(m.weight, path + ".weight", 1, world, rank)
        if m.bias is not None:
            torch._set_shares(m.bias, world)  # as Partial(): what each process adds to its part of the sum
            distributed.note_broadcast(m.bias.numel() * m.bias.element_size(), world, rank == 0)
        m.forward = _rowwise(m, world)
    return list(m.parameters())


# ---- the plan ----


def _is_at(names, patterns):
    # a trailing `*` of a name stands for the rest of it
    if len(names) != len(patterns):
        return False
    for name, pattern in zip(names, patterns):
        if name != pattern and not (pattern.endswith("*") and name.startswith(pattern[:-1])):
            return False
    return True


def parallelize(model, settings):
    # `model` is on the device
    plan = settings["tp-plan"]
    if plan == "none":
        raise ValueError("shard=tp: no layer is named; set tp-plan, as in tp-plan=layers.*.up:colwise,"
                         "layers.*.down:rowwise")
    world = settings["world"]
    rank = int(settings["rank"])
    split = []
    for entry in plan.split(","):
        words = entry.split(":")
        if len(words) != 2 or words[1] not in (_COLWISE, _ROWWISE):
            raise ValueError(f"tp-plan={entry}: not of the form PATH:colwise or PATH:rowwise; {_OTHER}")
        found = [(path, m) for path, m in model.named_modules() if _is_at(path.split("."), words[0].split("."))]
        if len(found) == 0:
            raise ValueError(f"tp-plan={entry}: the model has no module at such a path")
        for path, m in found:
            if not isinstance(m, nn.Linear):
                raise ValueError(f"tp-plan={entry}: the class of {path} is {type(m).__name__}, and only nn.Linear is "
                                 f"split; {_OTHER}")
            if any([p in split for p in m.parameters()]):
                raise ValueError(f"tp-plan={entry}: {path} is split already")
            split.extend(_split(m, path, words[1], world, rank))
    _check_optimizer(model, split, settings)
