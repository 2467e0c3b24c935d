# lang/prelude/fsdp/mesh.py - the mesh of processes that shard=fsdp trains in: how long its dimensions are, and where
# this process is.
#
# For:       fsdp.py, context_parallel.py; docs/internals/mesh.md.
# Invariant: the order of dimensions is torchtitan's: replicas, shards, tensor parallel; the last one changes first from
#            rank to rank. With cp the processes of a sequence are beside each other among the shards.
import torch
import _dtensor as dtensor


class Mesh:
    # replicas: groups that each have all shards; shards: processes of one group, and shard_rank, which this one is;
    # tp: the dtensor.Group of those that split modules between them, None without; cp_rank: among those of a sequence
    def __init__(self, settings):
        rank = int(settings["rank"])
        tp = settings["tp"]
        self.replicas = settings["replicate"]
        self.shards = settings["world"] // (self.replicas * tp)
        self.shard_rank = rank // tp % self.shards
        self.cp_rank = rank // tp % settings["cp"]
        self.tp = dtensor.Group(tp, rank % tp, settings["world"], rank) if tp > 1 else None


def check(settings):
    # refuse what makes no mesh, or is not known to be equal to PyTorch's
    world = settings["world"]
    if int(settings["rank"]) >= world:
        raise ValueError(f"rank={settings['rank']}: the ranks of world={world} are 0 to {world - 1}")
    sizes = [(name, settings[name]) for name in ("replicate", "tp", "cp") if settings[name] > 1]
    left = world
    for name, size in sizes:
        if left % size != 0:
            given = ", ".join([name + "=" + str(size) for name, size in sizes])
            what = "it does" if len(sizes) == 1 else "their product does"
            raise ValueError(f"{given}: {what} not divide world={world}")
        left //= size
    for name, size in sizes:
        if torch._rank_count() > 0:
            raise ValueError(f"{name}={size}: processes that train with shard=fsdp make no mesh of more than one "
                             "dimension here; record one rank of `world` without them")
