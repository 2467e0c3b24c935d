# lang/prelude/dtensor/tensor_parallel.py - parallelize_module() in one of `world` processes.
#
# For:       train.py, fsdp.py; docs/internals/tensor-parallel.md has what is split and how it was measured.
# Invariant: the net's own code works on tensors of this process alone; a DTensor only goes from one module of the plan
#            to another, or to the loss. What each module allocates, and in which order, is what PyTorch 2.15's does.
import torch
import torch.nn as nn

import _distributed as distributed
import _dtensor as dtensor

DTensor = dtensor.DTensor
PARTIAL = dtensor.PARTIAL
REPLICATE = dtensor.REPLICATE
WHOLE_ROWS = "whole rows"  # each process has the gradient of a whole table, and needs that of its own rows
_COLWISE = "colwise"
_ROWWISE = "rowwise"
_SEQUENCE = "sequence"
_PREPARE_INPUT = "prepare-input"
_PREPARE_OUTPUT = "prepare-output"
# what may follow each style, with PyTorch's defaults; "": must be given
_OPTIONS = {_COLWISE: {"input": REPLICATE, "output": "shard-1", "local": "on"},
            _ROWWISE: {"input": "shard-1", "output": REPLICATE, "local": "on"},
            _SEQUENCE: {"dim": "1", "local": "off"},
            _PREPARE_INPUT: {"input": "", "desired": "", "local": "off"},
            _PREPARE_OUTPUT: {"output": "", "desired": "", "local": "on"}}
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
    for name in ("fuse", "quantize"):
        if settings[name] != "off":
            raise ValueError(f"{name}={settings[name]}: together with shard=tp it is not supported yet")
    check_split(settings)
    if settings["checkpoint"] == "auto" or settings["checkpoint"].startswith("auto:"):
        raise ValueError(f"checkpoint={settings['checkpoint']}: placements are not planned for shard=tp yet; use "
                         "checkpoint=blocks")
    if settings["torch"] != "2.15":
        raise ValueError(f"torch={settings['torch']}: shard=tp is known of PyTorch 2.15 alone")


def check_split(settings):
    # refuse what tensor parallelism cannot do, with shard=tp and with shard=fsdp
    if settings["amp"] == "fp16" and settings["grad"] == "train":
        raise ValueError("amp=fp16: a GradScaler together with tensor parallelism is not supported; use amp=bf16")
    if settings["offload"] != "off":
        raise ValueError(f"offload={settings['offload']}: save_on_cpu() of a layer that is split got mixed "
                         "torch.Tensor and DTensor")
    if torch._has_data():
        torch._warn("tensor parallelism: the parts of the other processes are not there, and this one's are used in "
                    "their place; so the losses are not those of a training")


def _check_optimizer(model, split, settings):
    # all of torch.optim's ops over lists refuse them
    if settings["grad"] != "train" or settings["foreach"] == "off":
        return
    for name, p in model.named_parameters():
        if p.requires_grad and p not in split:
            raise ValueError(f"foreach={settings['foreach']}: the optimizer got mixed torch.Tensor and DTensor: {name} "
                             "is not split; set foreach=off, or name all layers in tp-plan")


# ---- the loss ----
#
# Names, and the order in which they are bound, are those of torch/distributed/tensor/parallel/loss.py of PyTorch 2.15,
# because these decide what is freed when.


def _masked(indices, first, size):
    # _MaskPartial: which indices are other processes', and all of them, as this process counts
    mask = (indices < first) | (indices >= first + size)
    masked_indices = indices.clone() - first
    masked_indices.masked_fill_(mask, 0)
    return mask, masked_indices


class _LogSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        dtype = x.dtype
        x = x.to(torch.float32)
        shifted = None  # bound first, as there
        x_max = torch.amax(x, 1, keepdim=True)
        x_max = dtensor.all_reduce(x_max, group, False)
        shifted = x - x_max
        shifted_sumexp = torch.sum(torch.exp(shifted), 1, keepdim=True)
        shifted_sumexp = dtensor.all_reduce(shifted_sumexp, group)
        shifted_logsumexp = torch.log(shifted_sumexp)
        result = shifted - shifted_logsumexp
        result = result.to(dtype)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class _NllLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, target, group, reduction, ignore_index):
        safe_target = torch.where(target != ignore_index, target, 0)
        size = x.shape[1]
        mask, safe_target_partial_ = _masked(safe_target.unsqueeze(1), size * group.rank, size)
        result_partial = torch.gather(x, 1, safe_target_partial_)
        result_partial.masked_fill_(mask, 0)
        del mask
        result_reduced = dtensor.all_reduce(result_partial, group)
        result = -result_reduced.squeeze(1)
        result = torch.where(target != ignore_index, result, 0)
        total_weight = (target != ignore_index).sum().to(x.dtype)
        if reduction == "sum":
            result = result.sum()
        else:
            result = result.sum() / total_weight
        ctx.save_for_backward(x, target, total_weight)
        ctx.group = group
        ctx.reduction = reduction
        ctx.ignore_index = ignore_index
        return result

    @staticmethod
    def backward(ctx, grad_output):
        x, target, total_weight = ctx.saved_tensors
        return _nll_loss_and_log_softmax_backward(grad_output, x, target, total_weight, ctx), None, None, None, None


def _nll_loss_and_log_softmax_backward(grad_output, x, target, total_weight, ctx):
    if ctx.reduction == "mean":
        grad_output = grad_output / total_weight
    target = target.unsqueeze(1)
    safe_target = torch.where(target != ctx.ignore_index, target, 0)
    grad_input = torch.zeros_like(x)
    safe_target = safe_target.squeeze(1).flatten()
    mask, masked_safe_target = _masked(safe_target, x.shape[1] * ctx.group.rank, x.shape[1])
    grad_update = mask.to(grad_input.dtype) - 1.0
    arange_1d = torch.arange(masked_safe_target.shape[0], device=masked_safe_target.device)
    grad_input[arange_1d, masked_safe_target] = grad_update
    grad_output = torch.where(target != ctx.ignore_index, grad_output, 0)
    return (grad_input + torch.exp(x)) * grad_output


def _cross_entropy_loss(input, target, reduction, ignore_index):
    logp = _LogSoftmax.apply(input.local, input.group)
    return _NllLoss.apply(logp.float() if torch.is_autocast_enabled("cuda") else logp, target, input.group, reduction,
                          ignore_index)


def _enter_loss(settings):
    # with loss-parallel=on the loop runs in loss_parallel()
    plain = nn.functional.cross_entropy

    def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                      label_smoothing=0.0):
        if not isinstance(input, DTensor):
            return plain(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing)
        if settings["chunk-loss"] != "off":
            raise ValueError(f"chunk-loss={settings['chunk-loss']}: F.cross_entropy() gets a DTensor, which is not cut "
                             "into chunks; let the layer return a tensor: local=on")
        if settings["loss-parallel"] == "off":
            raise NotImplementedError("tp-plan: F.cross_entropy() of a DTensor outside of loss_parallel() is not "
                                      "followed here; set loss-parallel=on, or let the layer return a tensor: local=on")
        if input.layout != 1 or input.dim() != 2:
            raise NotImplementedError("loss-parallel=on: F.cross_entropy() is followed for logits of two dimensions "
                                      "that are split along the second one: flatten(0, 1) those of a sequence")
        if weight is not None or label_smoothing != 0.0 or reduction not in ("mean", "sum"):
            raise NotImplementedError("loss-parallel=on: weight, label_smoothing and reduction=\"none\" of "
                                      "F.cross_entropy() are not followed here; leave them out")
        input.uses.note(1)
        l = _cross_entropy_loss(input, target, reduction, ignore_index)
        torch._set_dtensor(l)
        return l

    nn.functional.cross_entropy = cross_entropy


# ---- modules ----


class _Masked(torch.autograd.Function):
    # F.embedding() of a table of which this process has some rows. The gradient is that of the whole table, the same in
    # all processes.
    @staticmethod
    def forward(ctx, weight, m, indices, masked, padding_idx, rows):
        ctx.save_for_backward(indices)
        ctx.m = m
        ctx.padding_idx = padding_idx
        ctx.rows = rows
        return torch._op.embedding(weight, masked, padding_idx)

    @staticmethod
    def backward(ctx, grad):
        indices, = ctx.saved_tensors
        result = torch._op.embedding_dense_backward(grad, indices, ctx.rows, ctx.padding_idx)
        return result.to(torch._grad_dtype(ctx.m.weight, result)), None, None, None, None, None


def _embedding_of_rows(m, group):
    size = m.weight.shape[0]
    padding_idx = -1 if m.padding_idx is None else m.padding_idx

    def forward(d):
        mask, masked = _masked(d.local, size * group.rank, size)
        output = DTensor(_Masked.apply(m.weight, m, d.local, masked, padding_idx, size * group.size), PARTIAL, group)
        output.mask = mask
        return output

    return forward


def _embedding_of_columns(m, group):
    def forward(d):
        output = nn.functional.embedding(d.local, m.weight, m.padding_idx)
        return DTensor(output, output.dim() - 1, group)

    return forward


def _linear(m, group, is_colwise):
    def forward(d):
        output = nn.functional.linear(d.local, m.weight, m.bias)
        d.uses.note(PARTIAL if is_colwise else d.layout)
        return DTensor(output, output.dim() - 1 if is_colwise else PARTIAL, group)

    return forward


def _laid(input, given, desired, group, is_async=True):
    # an argument of a module as a DTensor of the layout that is desired
    if not isinstance(input, DTensor):
        input = dtensor.from_local(input, dtensor.layout_of(given, input.dim()), group)
    if given != desired:
        input = dtensor.redistribute(input, dtensor.layout_of(desired, input.dim()), is_async)
    return input


def _returned(output, desired, is_local):
    layout = dtensor.layout_of(desired, output.dim())
    if output.layout != layout:
        output = dtensor.redistribute(output, layout)
    return dtensor.to_local(output) if is_local else output


def _split_forward(on_parts, path, style, group):
    def forward(input):
        desired = style.desired
        input = _laid(input, style.input, desired, group)
        if input.layout != dtensor.layout_of(desired, input.dim()):
            raise NotImplementedError(f"tp-plan: {path} gets a DTensor with the layout {input.layout}, not {desired}; "
                                      "say what it is in the plan: input=shard1")
        return _returned(on_parts(input), style.output, style.is_local)

    return forward


def _sequence_forward(m, style, group):
    plain = m.forward

    def forward(input):
        desired = style.desired
        if isinstance(input, DTensor):
            layout = dtensor.layout_of(desired, input.dim())
            if input.layout != layout:
                input = dtensor.redistribute(input, layout)
        else:
            input = dtensor.from_local(input, dtensor.layout_of(desired, input.dim()), group)
        input.uses.note(input.layout)
        if isinstance(m, nn.Dropout) and m.training:
            dtensor.draw(input.local, group)
        output = DTensor(plain(input.local), input.layout, group)
        return dtensor.to_local(output) if style.is_local else output

    return forward


def _prepared_input(plain, style, group):
    def forward(input):
        input = _laid(input, style.input, style.desired, group, False)
        return plain(dtensor.to_local(input) if style.is_local else input)

    return forward


def _prepared_output(plain, style, group):
    def forward(*args, **kwargs):
        output = _laid(plain(*args, **kwargs), style.output, style.desired, group, False)
        return dtensor.to_local(output) if style.is_local else output

    return forward


# ---- parameters ----


def _part(p, name, dim, world, rank):
    # all parts exist before one of them is scattered to this process
    p = p.to("cuda")
    if p.shape[dim] % world != 0:
        raise ValueError(f"tp-plan: dimension {dim} of {name}, {p.shape[dim]}, does not divide into {world} equal "
                         "parts, which a layer that is split must")
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


def _move(m, name, full_name):
    # a parameter that each process has whole: it is on the device already, or on the host
    p = getattr(m, name)
    if p.device.type == "cuda":
        return
    moved = nn.Parameter(p.detach().to("cuda"), requires_grad=p.requires_grad)
    torch._set_category(moved, "parameter")
    torch._set_name(moved, full_name)
    setattr(m, name, moved)


def _split_whole(m, path, dim, world, rank):
    # all parameters of `m`, one after the other
    whole = [p for name, p in m.named_parameters()]
    for name, p in list(m.named_parameters()):
        setattr(m, name, _part(p, path + "." + name, dim, world, rank))
    del p
    while len(whole) > 0:
        whole.pop(0)


def _split_linear(m, path, style, group):
    if style.name == _COLWISE:
        _split_whole(m, path, 0, group.size, group.rank)
    else:
        m.weight = _part(m.weight, path + ".weight", 1, group.size, group.rank)
        if m.bias is not None:
            _move(m, "bias", path + ".bias")
            torch._set_shares(m.bias, group.size)  # as Partial(): what each process adds to its part of the sum
            distributed.note_broadcast(m.bias.numel() * m.bias.element_size(), group.size, group.rank == 0)
    m.forward = _split_forward(_linear(m, group, style.name == _COLWISE), path, style, group)


def _split_embedding(m, path, style, group, grad_layouts):
    _split_whole(m, path, 1 if style.name == _COLWISE else 0, group.size, group.rank)
    if style.name == _COLWISE:
        on_parts = _embedding_of_columns(m, group)
    else:
        style.desired = REPLICATE
        on_parts = _embedding_of_rows(m, group)
        grad_layouts[m] = WHOLE_ROWS
        torch._set_whole_grad(m.weight)
    m.forward = _split_forward(on_parts, path, style, group)


def _apply(m, path, style, group, grad_layouts):
    # returns the parameters that are DTensors from now on; adds to `grad_layouts` what parallelize_over() has there
    if style.name == _PREPARE_INPUT:
        m.forward = _prepared_input(m.forward, style, group)
        return []
    if style.name == _PREPARE_OUTPUT:
        m.forward = _prepared_output(m.forward, style, group)
        return []
    if style.name == _SEQUENCE:
        if not isinstance(m, (nn.LayerNorm, nn.RMSNorm, nn.Dropout)):
            raise ValueError(f"tp-plan={path}:sequence: the class of {path} is {type(m).__name__}, and only "
                             f"nn.LayerNorm, nn.RMSNorm and nn.Dropout are followed on sequences; {_OTHER}")
        m.forward = _sequence_forward(m, style, group)
        for name, p in list(m.named_parameters()):
            _move(m, name, path + "." + name)
            getattr(m, name).requires_grad_(True)  # a new nn.Parameter, whatever the old one was
        grad_layouts[m] = PARTIAL
    elif isinstance(m, nn.Linear):
        _split_linear(m, path, style, group)
    elif isinstance(m, nn.Embedding):
        _split_embedding(m, path, style, group, grad_layouts)
    else:
        raise ValueError(f"tp-plan={path}:{style.name}: the class of {path} is {type(m).__name__}, and only nn.Linear "
                         f"and nn.Embedding are split; {_OTHER}")
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


def _is_layout(word):
    if word == REPLICATE:
        return True
    return word in ["shard" + str(i) for i in range(-4, 5)]


class _Style:
    # an entry of the plan. name; input, output, desired: layouts as the plan says them; is_local: use_local_output
    def __init__(self, entry, words):
        self.name = words[0]
        if self.name not in _OPTIONS:
            raise ValueError(f"tp-plan={entry}: not of the form PATH:STYLE, with a STYLE of {', '.join(_OPTIONS)}; "
                             f"{_OTHER}")
        given = dict(_OPTIONS[self.name])
        for word in words[1:]:
            pair = word.split("=")
            if len(pair) != 2 or pair[0] not in given:
                raise ValueError(f"tp-plan={entry}: {word}: the options of {self.name} are "
                                 f"{', '.join([name + '=' for name in _OPTIONS[self.name]])}")
            given[pair[0]] = pair[1]
        if given["local"] not in ("on", "off"):
            raise ValueError(f"tp-plan={entry}: local={given['local']}: on or off")
        self.is_local = given["local"] == "on"
        self.input = given.get("input")
        self.output = given.get("output")
        self.desired = given.get("desired")
        if self.name == _SEQUENCE:
            self.desired = "shard" + given["dim"]
        for name, layout in (("input", self.input), ("output", self.output), ("desired", self.desired)):
            if layout == "":
                raise ValueError(f"tp-plan={entry}: {self.name} needs {name}=replicate or {name}=shard1")
            if layout is not None and not _is_layout(layout):
                raise ValueError(f"tp-plan={entry}: {name}={layout}: a layout is replicate, or shard and a dimension, "
                                 "as shard1, shard-1")
        if self.name == _COLWISE:
            self.desired = REPLICATE
        elif self.name == _ROWWISE:
            self.desired = "shard-1"


def _entries(plan):
    # pairs of a path with `*`, and a style
    if plan == "none":
        raise ValueError("tp-plan: no layer is named; set tp-plan, as in tp-plan=layers.*.up:colwise,"
                         "layers.*.down:rowwise")
    pairs = []
    for entry in plan.split(","):
        words = entry.split(":")
        if len(words) < 2:
            raise ValueError(f"tp-plan={entry}: not of the form PATH:STYLE, with a STYLE of {', '.join(_OPTIONS)}")
        pairs.append((entry, words[0], words[1:]))
    return pairs


def parallelize_over(model, group, settings):
    # Split the modules of the plan between the processes of `group`; their parameters move to the device, others stay
    # where they are. Returns the parameters that are DTensors from now on, and a dict of modules: whether gradients of
    # their parameters are PARTIAL or WHOLE_ROWS.
    split = []
    grad_layouts = {}
    for entry, pattern, words in _entries(settings["tp-plan"]):
        found = [(path, m) for path, m in model.named_modules() if _is_at(path.split("."), pattern.split("."))]
        if len(found) == 0:
            raise ValueError(f"tp-plan={entry}: the model has no module at such a path")
        for path, m in found:
            style = _Style(entry, words)
            if style.name not in (_PREPARE_INPUT, _PREPARE_OUTPUT) and any([p in split for p in m.parameters()]):
                raise ValueError(f"tp-plan={entry}: {path} is split already")
            split.extend(_apply(m, path, style, group, grad_layouts))
    _enter_loss(settings)
    return split, grad_layouts


def parallelize(model, settings):
    # `model` is on the device
    world = settings["world"]
    rank = int(settings["rank"])
    group = dtensor.Group(world, rank, world, rank)
    split, grad_layouts = parallelize_over(model, group, settings)
    _check_optimizer(model, split, settings)
    partial = {p: True for m in grad_layouts for p in m.parameters()}
    if len(partial) > 0:
        dtensor.enter_optimizers(partial, group)
