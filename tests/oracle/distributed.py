"""tests/oracle/distributed.py - one process of several under real PyTorch: a rank of `world`, with NCCL as its backend.

NCCL is simulated, too (see nogpu), so what runs is PyTorch's own ProcessGroupNCCL, reducer and wrappers; no
other process is needed to make its communicator.
"""
import contextlib
import functools
import logging
import os

import torch
import torch.distributed as dist

import nogpu
import toggles as tg


def enter(world, rank=None):
    """Makes the process group, and has the reducer read what the processes agree upon."""
    if not nogpu.active():
        raise tg.Refused("shard runs over the stand-in alone")
    # fully_shard asks for what other ranks set: the stand-in's own store answers in their place
    store = dist.HashStore() if rank is None else nogpu.store(world)
    sequence_mesh.cache_clear()  # it was of the process group before
    dist.init_process_group("nccl", rank=rank or 0, world_size=world, store=store)
    plain = dist.Reducer._rebuild_buckets

    def rebuild(self):
        with nogpu.Values():
            return plain(self)

    dist.Reducer._rebuild_buckets = rebuild


def wrap(model, toggles):
    """The model as the loop gets it."""
    enter(toggles["world"], toggles["rank"] if toggles["rank"] > 0 else None)
    with nogpu.Values():
        return torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])


def fully_shard(model, toggles):
    """The model, on the host, sharded block by block and then as a whole; it ends up on the device, because fully_shard
    moves what it shards."""
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard as shard
    enter(toggles["world"], toggles["rank"])
    words = {"reshard_after_forward": False} if toggles["reshard"] == "off" else {}
    if toggles["mp-policy"] != "off":
        reduce_dtype = torch.float32 if toggles["mp-policy"] == "bf16" else torch.bfloat16
        words["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=reduce_dtype)
    if toggles["offload-policy"] == "cpu":
        words["offload_policy"] = CPUOffloadPolicy()
    if toggles["cp"] > 1:
        sequence_mesh(toggles["world"], toggles["cp"], toggles["tp"])
    mesh = mesh_of(toggles)
    if toggles["tp"] > 1:
        parallelize(model, mesh["tp"], toggles)
    if mesh is not None:
        words["mesh"] = mesh[tuple(name for name in mesh.mesh_dim_names if name != "tp")]
    with nogpu.Values():
        for block in tg.units_of(model, toggles["shard-units"]):
            shard(block, **words)
        shard(model, **words)
    return model


def mesh_of(toggles):
    """The mesh of the processes where fully_shard needs one; the process with the highest rank is the last of each
    dimension."""
    from torch.distributed.device_mesh import init_device_mesh
    if toggles["replicate"] == 1 and toggles["tp"] == 1:
        return None
    sizes = {"dp_replicate": toggles["replicate"],
             "dp_shard": toggles["world"] // (toggles["replicate"] * toggles["tp"]), "tp": toggles["tp"]}
    sizes = {name: size for name, size in sizes.items() if size > 1 or name == "dp_shard"}
    nogpu.watch_splits()
    return init_device_mesh("cuda", tuple(sizes.values()), mesh_dim_names=tuple(sizes))


def layout_of(word):
    from torch.distributed.tensor import Replicate, Shard
    return Replicate() if word == "replicate" else Shard(int(word[len("shard"):]))


def style_of(words):
    """An entry of tp-plan without its path: the style and its options, as colwise:input=shard1:local=off."""
    from torch.distributed.tensor import parallel as tp
    options = dict(word.split("=") for word in words[1:])
    if words[0] == "sequence":
        return tp.SequenceParallel(sequence_dim=int(options.get("dim", 1)),
                                   use_local_output=options.get("local", "off") == "on")
    layouts = {name + "_layouts": layout_of(options[name]) for name in ("input", "output") if name in options}
    if words[0] == "prepare-input":
        return tp.PrepareModuleInput(desired_input_layouts=layout_of(options["desired"]),
                                     use_local_output=options.get("local", "off") == "on", **layouts)
    if words[0] == "prepare-output":
        return tp.PrepareModuleOutput(desired_output_layouts=layout_of(options["desired"]),
                                      use_local_output=options.get("local", "on") == "on", **layouts)
    kind = {"colwise": tp.ColwiseParallel, "rowwise": tp.RowwiseParallel}[words[0]]
    return kind(use_local_output=options.get("local", "on") == "on", **layouts)


def tensor_parallel(model, toggles):
    """Splits the modules of a model on the device by the plan of tp-plan."""
    from torch.distributed.device_mesh import init_device_mesh
    enter(toggles["world"], toggles["rank"])
    parallelize(model, init_device_mesh("cuda", (toggles["world"],)), toggles)


def parallelize(model, mesh, toggles):
    from torch.distributed.tensor.parallel import parallelize_module
    entries = [entry.split(":") for entry in toggles["tp-plan"].split(",")]
    plan = {entry[0]: style_of(entry[1:]) for entry in entries}
    with nogpu.Values():
        parallelize_module(model, mesh, plan)


def loss_context(toggles):
    """What the training loop runs in."""
    if toggles["loss-parallel"] == "off":
        return contextlib.nullcontext()
    from torch.distributed.tensor.parallel import loss_parallel
    return loss_parallel()


# ---- context parallelism ----


def sequence_buffers(model, pair, toggles):
    """What context_parallel splits: tensors, and along which dimension; and how many of them are of the batch, which
    are of one length along their second dimension."""
    flat = [t for t in torch.utils._pytree.tree_leaves(pair) if isinstance(t, torch.Tensor) and t.dim() > 1]
    flat = [t for t in flat if t.size(1) == flat[0].size(1)]
    buffers, dims = list(flat), [1] * len(flat)
    if toggles["cp-buffers"] != "none":
        for entry in toggles["cp-buffers"].split(","):
            path, dim = entry.split(":")
            buffers.append(model.get_buffer(path))
            dims.append(int(dim))
    return buffers, dims, len(flat)


@functools.cache
def sequence_mesh(world, count, tp=1):
    from torch.distributed.device_mesh import init_device_mesh
    nogpu.watch_splits()
    sizes = {"dp": world // (count * tp), "cp": count, "tp": tp}
    sizes = {name: size for name, size in sizes.items() if size > 1 or name != "tp"}
    return init_device_mesh("cuda", tuple(sizes.values()), mesh_dim_names=tuple(sizes))["cp"]


def sequence_context(model, pair, toggles):
    """What forward, loss and backward run in: a sequence split between `cp` processes."""
    if toggles["cp"] == 1:
        return contextlib.nullcontext()
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import set_rotate_method
    set_rotate_method(toggles["cp-rotate"])
    buffers, dims, of_batch = sequence_buffers(model, pair, toggles)
    mesh = sequence_mesh(toggles["world"], toggles["cp"], toggles["tp"])
    return context_parallel(mesh, buffers=buffers, buffer_seq_dims=dims,
                            no_restore_buffers=set() if toggles["data"] == "once" else set(buffers[:of_batch]))


# ---- pipelines ----


LOOPED = {"interleaved1f1b": "ScheduleInterleaved1F1B", "loopedbfs": "ScheduleLoopedBFS"}


def cuts_of(toggles):
    return toggles["pp-split"].split(",") if toggles["pp-split"] != "none" else []


def stages_of(toggles):
    """Those of this process."""
    return range(toggles["rank"], len(cuts_of(toggles)) + 1, toggles["world"])


def first_stages(model, toggles):
    """The stage that each module begins in and the one that it ends in, by path: pp-split names the first module of
    each later stage, in the order of named_modules()."""
    cuts = cuts_of(toggles)
    begins, ends, stage = {}, {}, 0
    for path, m in model.named_modules():
        stage += path in cuts
        names = path.split(".")
        begins[path] = stage
        for i in range(len(names) + 1):
            ends[".".join(names[:i])] = stage
    count = toggles["world"]
    if stage != len(cuts) or (stage + 1) % count or (toggles["pp-schedule"] not in LOOPED and stage + 1 != count):
        raise ValueError("pp-split=%s: not %d modules of the model" % (toggles["pp-split"], count - 1))
    return begins, ends


def cut(model, toggles, rank):
    """Leaves of a model on the host what one stage has: modules of others are taken out of their lists, elsewhere they
    become None, as in PyTorch's tutorial."""
    begins, ends = first_stages(model, toggles)

    def enter(m, path):
        for name, child in list(m.named_children()):
            inner = path + "." + name if path else name
            if begins[inner] <= rank <= ends[inner]:
                enter(child, inner)
            elif isinstance(m, (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)):
                del m._modules[name]
            else:
                setattr(m, name, None)

    enter(model, "")


def keep(model, toggles, decided, stage):
    """The same for good; returns toggles and decisions about modules that are in the stage."""
    paths = {path for path, m in model.named_modules()}
    cut(model, toggles, stage)
    kept = {path for path, m in model.named_modules()}
    of_stage = dict(toggles)
    for name in ("checkpoint", "offload"):
        words = toggles[name].split(",")
        if paths.issuperset(words):
            of_stage[name] = ",".join(w for w in words if w in kept) or "off"
    return of_stage, decided and dict(decided, on=[path for path in decided["on"] if path in kept])


class Pipeline:
    """The stages of a process and their schedule."""

    def __init__(self, parts, net, toggles, shapes, autocast):
        from torch.distributed import pipelining
        logging.disable(logging.WARNING)  # about an eager communicator
        enter(toggles["world"], toggles["rank"])
        self.stages = []
        for part, index, (inputs, outputs) in zip(parts, stages_of(toggles), shapes):
            stage = pipelining.PipelineStage(part, index, len(cuts_of(toggles)) + 1, torch.device("cuda"),
                                             input_args=self.empty(inputs), output_args=self.empty(outputs))
            if toggles["amp"] != "off":
                stage.register_forward_context(lambda info: autocast())
            self.stages.append(stage)
        divisor = toggles["microbatches"] * toggles["accumulate"]

        def loss(output, target):
            with autocast():
                if toggles["accumulate"] == 1:
                    return net.loss(output, target)
                return net.loss(output, target) / divisor

        kinds = {"1f1b": "Schedule1F1B", "gpipe": "ScheduleGPipe", **LOOPED}
        kind = getattr(pipelining, kinds[toggles["pp-schedule"]])
        self.schedule = kind(self.stages if toggles["pp-schedule"] in LOOPED else self.stages[0],
                             toggles["microbatches"], loss, scale_grads=toggles["accumulate"] == 1)
        self.parameters = torch.nn.ModuleList(parts).parameters

    @staticmethod
    def empty(shapes):
        return tuple(torch.empty_strided(size, stride, dtype=getattr(torch, dtype), device="meta").requires_grad_(grad)
                     for size, stride, dtype, grad in shapes)

    def observe(self, observer, trains):
        """Each part of a step is a phase."""
        parts = []
        for stage in self.stages:
            parts.append((stage, "forward_one_chunk", "forward"))
            if trains:
                parts.append((stage, "backward_one_chunk", "backward"))
        for owner, name, phase in parts:
            setattr(owner, name, self.observed(getattr(owner, name), phase, observer))
        loss = self.schedule._maybe_compute_loss
        observed = self.observed(loss, "loss", observer)
        self.schedule._maybe_compute_loss = lambda stage, *args: (observed if stage.is_last else loss)(stage, *args)

    @staticmethod
    def observed(plain, phase, observer):
        def call(*args, **words):
            result = plain(*args, **words)
            observer.phase(phase)
            return result

        return call


DEEPSPEED = {"deepspeed-zero1": 1, "deepspeed-zero2": 2, "deepspeed-zero3": 3}  # values of the toggle, and the stage
STAGE3_SIZES = ("stage3-prefetch-bucket-size", "stage3-param-persistence-threshold", "stage3-max-live-parameters",
                "stage3-max-reuse-distance", "sub-group-size")  # toggles that are settings of stage 3


def ignore_value(owner, name):
    """The function runs and reads what the device says, which is not computed: no gradient overflows."""
    plain = getattr(owner, name)

    def call(*args, **words):
        plain(*args, **words)
        return False

    setattr(owner, name, call)


@contextlib.contextmanager
def no_text_of_tensors():
    """Stage 3 writes all parameters into a message that it does not print; how much memory that takes is decided by
    their values, which are not computed."""
    plain = torch.Tensor.__repr__
    torch.Tensor.__repr__ = object.__repr__
    try:
        yield
    finally:
        torch.Tensor.__repr__ = plain


class OrderedSet(dict):
    """A set whose order is that of insertion."""

    def __init__(self, items=()):
        super().__init__((item, None) for item in items)

    def add(self, item):
        self[item] = None

    def discard(self, item):
        self.pop(item, None)

    def update(self, items):
        super().update((item, None) for item in items)


def settle_stage3():
    """Makes stage 3 say the same in every run. It walks sets of parameters, whose order depends on where Python has put
    them: here it is that of the parameters. Ranks compare the order of their modules on the device: it is the same."""
    from deepspeed.runtime.zero import partitioned_param_coordinator as coordinator, stage3, utils
    coordinator.set = OrderedSet
    ignore_value(stage3, "is_invalid_grad_norm")
    ignore_value(stage3.DeepSpeedZeroOptimizer_Stage3, "has_overflow")
    plain = utils.get_lst_from_rank0

    def from_rank0(lst):
        plain(lst)
        return lst

    def same_length(lst):
        try:
            plain_length(lst)
        except RuntimeError:  # what came back is zero
            pass

    utils.get_lst_from_rank0 = from_rank0
    plain_length = utils.assert_lst_len_same_as_other_ranks
    utils.assert_lst_len_same_as_other_ranks = same_length


def deepspeed(model, optimizer, toggles):
    """DeepSpeed's engine, which moves the model, on the host so far, to the device."""
    os.environ.setdefault("LOCAL_RANK", "0")
    os.environ.setdefault("DS_ACCELERATOR", "cuda")
    enter(toggles["world"], toggles["rank"])
    logging.disable(logging.CRITICAL)
    import deepspeed
    from deepspeed.runtime.zero import stage_1_and_2 as zero_file
    ignore_value(zero_file, "is_invalid_grad_norm")
    ignore_value(zero_file.DeepSpeedZeroOptimizer, "has_overflow")
    zero = {"stage": DEEPSPEED[toggles["shard"]], "overlap_comm": toggles["overlap-comm"] == "on",
            "reduce_bucket_size": toggles["reduce-bucket-size"]}
    if zero["stage"] == 3:
        settle_stage3()
        zero.update({name.replace("-", "_"): toggles[name] for name in STAGE3_SIZES})
    config = {"train_micro_batch_size_per_gpu": toggles["batch"] // toggles["accumulate"],
              "gradient_accumulation_steps": toggles["accumulate"], "zero_optimization": zero,
              "zero_allow_untested_optimizer": True, "bf16": {"enabled": toggles["mp-policy"] == "bf16"},
              "fp16": {"enabled": toggles["mp-policy"] == "fp16"}}
    with nogpu.Values(), no_text_of_tensors():
        return deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]
