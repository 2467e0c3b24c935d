"""tests/oracle/distributed.py - one process of several under real PyTorch: a rank of `world`, with NCCL as its backend.

NCCL is simulated, too (see nogpu), so what runs is PyTorch's own ProcessGroupNCCL, reducer and wrappers; no
other process is needed to make its communicator.
"""
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
    with nogpu.Values():
        for block in tg.units_of(model, toggles["shard-units"]):
            shard(block, **words)
        shard(model, **words)
    return model


def tensor_parallel(model, toggles):
    """Splits the linear layers of a model on the device by the plan of tp-plan."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    enter(toggles["world"], toggles["rank"])
    styles = {"colwise": ColwiseParallel, "rowwise": RowwiseParallel}
    plan = {path: styles[style]() for path, style in (part.split(":") for part in toggles["tp-plan"].split(","))}
    with nogpu.Values():
        parallelize_module(model, init_device_mesh("cuda", (toggles["world"],)), plan)


# ---- pipelines ----


def first_stages(model, toggles):
    """The stage that each module begins in and the one that it ends in, by path: pp-split names the first module of
    each later stage, in the order of named_modules()."""
    cuts = toggles["pp-split"].split(",") if toggles["pp-split"] != "none" else []
    begins, ends, stage = {}, {}, 0
    for path, m in model.named_modules():
        stage += path in cuts
        names = path.split(".")
        begins[path] = stage
        for i in range(len(names) + 1):
            ends[".".join(names[:i])] = stage
    if stage != len(cuts) or stage + 1 != toggles["world"]:
        raise ValueError("pp-split=%s: not %d modules of the model" % (toggles["pp-split"], toggles["world"] - 1))
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


def keep(model, toggles, decided):
    """The same for good; returns toggles and decisions about modules that are in the stage."""
    paths = {path for path, m in model.named_modules()}
    cut(model, toggles, toggles["rank"])
    kept = {path for path, m in model.named_modules()}
    of_stage = dict(toggles)
    for name in ("checkpoint", "offload"):
        words = toggles[name].split(",")
        if paths.issuperset(words):
            of_stage[name] = ",".join(w for w in words if w in kept) or "off"
    return of_stage, decided and dict(decided, on=[path for path in decided["on"] if path in kept])


class Pipeline:
    """A stage and its schedule."""

    def __init__(self, model, net, toggles, shapes, autocast):
        from torch.distributed import pipelining
        logging.disable(logging.WARNING)  # about an eager communicator
        enter(toggles["world"], toggles["rank"])
        empty = [torch.empty_strided(size, stride, dtype=getattr(torch, dtype), device="meta").requires_grad_(grad)
                 for size, stride, dtype, grad in shapes]
        stage = pipelining.PipelineStage(model, toggles["rank"], toggles["world"], torch.device("cuda"),
                                         input_args=empty[0], output_args=empty[1])
        if toggles["amp"] != "off":
            stage.register_forward_context(lambda info: autocast())

        def loss(output, target):
            with autocast():
                return net.loss(output, target)

        kinds = {"1f1b": pipelining.Schedule1F1B, "gpipe": pipelining.ScheduleGPipe}
        self.schedule = kinds[toggles["pp-schedule"]](stage, toggles["microbatches"], loss)
        self.stage = stage
        self.parameters = model.parameters

    def observe(self, observer, trains):
        """Each part of a step is a phase."""
        parts = [(self.stage, "forward_one_chunk", "forward")]
        if self.stage.is_last:
            parts.append((self.schedule, "_maybe_compute_loss", "loss"))
        if trains:
            parts.append((self.stage, "backward_one_chunk", "backward"))
        for owner, name, phase in parts:
            setattr(owner, name, self.observed(getattr(owner, name), phase, observer))

    @staticmethod
    def observed(plain, phase, observer):
        def call(*args, **words):
            result = plain(*args, **words)
            observer.phase(phase)
            return result

        return call


DEEPSPEED = {"deepspeed-zero1": 1, "deepspeed-zero2": 2}  # values of the toggle, and the stage


def ignore_value(owner, name):
    """The function runs and reads what the device says, which is not computed: no gradient overflows."""
    plain = getattr(owner, name)

    def call(*args, **words):
        plain(*args, **words)
        return False

    setattr(owner, name, call)


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
    config = {"train_micro_batch_size_per_gpu": toggles["batch"] // toggles["accumulate"],
              "gradient_accumulation_steps": toggles["accumulate"], "zero_optimization": zero,
              "zero_allow_untested_optimizer": True, "bf16": {"enabled": toggles["mp-policy"] == "bf16"},
              "fp16": {"enabled": toggles["mp-policy"] == "fp16"}}
    with nogpu.Values():
        return deepspeed.initialize(model=model, optimizer=optimizer, config=config)[0]
