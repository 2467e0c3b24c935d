"""tests/programs/objects.py - what ranks say to each other: objects, small counts, shapes.

Run by torchrun, or as one rank of many, which hears from the others what it has itself.
"""
import os

import torch
import torch.distributed as dist
from figures import figures

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
is_alone = "ALONE" in os.environ


def own(r):
    """Of different length on each rank; large ones are megabytes."""
    return {"rank": r, "text": "x" * (10 + 100000 * r), "list": list(range(r))}


def theirs(r):
    return own(rank if is_alone else r)


gathered = [None] * world
dist.all_gather_object(gathered, own(rank))
assert gathered == [theirs(r) for r in range(world)], gathered

gathered = [None] * world if rank == 0 else None
dist.gather_object(own(rank), gathered, dst=0)
assert gathered == ([theirs(r) for r in range(world)] if rank == 0 else None)

objects = [own(1), "same"] if rank == 1 else [None, "mine"]
dist.broadcast_object_list(objects, src=1)
assert objects == ([None, "mine"] if is_alone and rank != 1 else [own(1), "same"]), objects

out = [None]
dist.scatter_object_list(out, [own(r) for r in range(world)] if rank == 0 else None, src=0)
assert out == ([None] if is_alone and rank != 0 else [own(rank)]), out

if not is_alone:
    count = torch.tensor([rank + 1, 10 * rank], device="cuda")
    dist.all_reduce(count)
    assert count.tolist() == [world * (world + 1) // 2, 5 * world * (world - 1)], count
    most = torch.tensor(float(rank), device="cuda")
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    assert most.item() == world - 1
    sizes = [torch.zeros(1, dtype=torch.int64, device="cuda") for _ in range(world)]
    dist.all_gather(sizes, torch.tensor([7 * rank], device="cuda"))
    assert [s.item() for s in sizes] == [7 * r for r in range(world)]
    if rank == 0:
        dist.send(torch.tensor([3, 4], device="cuda"), 1)
        dist.send_object_list([own(0), "shape"], 1)
    elif rank == 1:
        got = torch.zeros(2, dtype=torch.int64, device="cuda")
        dist.recv(got, 0)
        assert got.tolist() == [3, 4]
        objects = [None, None]
        dist.recv_object_list(objects, 0)
        assert objects == [own(0), "shape"]
    parts = dist.new_group(list(range(world))[::-1])
    dist.all_reduce(count, group=parts)
    file = os.path.join(os.environ["OBJECTS_FOLDER"], "written") if "OBJECTS_FOLDER" in os.environ else None
    if file and rank == 0:
        with open(file, "w") as f:
            f.write("before the barrier")
    dist.barrier()
    assert not file or os.path.exists(file)
figures()
dist.destroy_process_group()
