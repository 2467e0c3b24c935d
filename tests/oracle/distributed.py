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
