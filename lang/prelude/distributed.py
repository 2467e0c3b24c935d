# lang/prelude/distributed.py - DistributedDataParallel and ZeroRedundancyOptimizer in one of `world` processes: rank 0.
#
# For:       train.py and toggles.py; docs/internals/distributed.md says which PyTorch API each value of the toggle
#            `shard` stands for.
# Invariant: device memory at every point is that of PyTorch 2.15 with NCCL, measured by tests/oracle/distributed.py. No
#            data is sent: the other processes are assumed to have the same values, so an in-place collective does
#            nothing.
import torch
import torch.nn as nn
import torch.optim

_FIRST_BUCKET = 1024 * 1024
_BUCKET = 25 * 1024 * 1024
_BROADCAST_BUCKET = 250 * 1024 * 1024
_NO_LIMIT = 9223372036854775807


def check(net, settings):
    # refuse incompatible toggles before anything is on the device
    if settings["shard"] == "zero1" and hasattr(net, "optimizer"):
        raise ValueError("shard=zero1: the net makes its optimizer itself, and a ZeroRedundancyOptimizer is made of a "
                         "class and its settings; leave out the net's `def optimizer`, or use shard=ddp")
    if settings["shard"] == "zero1" and int(settings["rank"]) >= settings["world"]:
        raise ValueError(f"rank={settings['rank']}: the ranks of world={settings['world']} are 0 to "
                         f"{settings['world'] - 1}")
    if settings["shard"] == "zero1" and torch._has_data() and settings["grad"] == "train" and torch._rank_count() == 0:
        torch._warn("shard=zero1: this rank updates its own share of the parameters; the others, which come from the "
                    "other processes, stay as they are here, and so the losses are not those of a training")


# ---- buckets ----


def _bytes(t):
    return t.numel() * t.element_size()


def _assign(tensors, limits):
    # Lists of indices of `tensors`, each of one dtype, closed when it reaches the limit. A dtype's buckets use the
    # limits in turn, then the last one. Incomplete buckets come at the end, the dtype seen last first, in the order of
    # PyTorch's hash table.
    full = []
    filling = {}
    for i, t in enumerate(tensors):
        bucket = filling.setdefault(t.dtype, {"places": [], "bytes": 0, "limit": 0})
        bucket["places"].append(i)
        bucket["bytes"] += _bytes(t)
        if bucket["bytes"] >= limits[bucket["limit"]]:
            full.append(bucket["places"])
            bucket["places"] = []
            bucket["bytes"] = 0
            bucket["limit"] = min(bucket["limit"] + 1, len(limits) - 1)
    for bucket in reversed(list(filling.values())):
        if len(bucket["places"]) > 0:
            full.append(bucket["places"])
    return full


def _by_first(buckets):
    # in the order of their first tensors
    firsts = [places[0] for places in buckets]
    ordered = []
    for first in sorted(firsts):
        ordered.append(buckets[firsts.index(first)])
    return ordered


# ---- what is sent (docs/internals/distributed.md has the sums) ----


def note_all_gather(given, world):
    torch._collective("ncclAllGather", given, given * (world - 1))


def note_reduce_scatter(given, world):
    torch._collective("ncclReduceScatter", given, given // world * (world - 1))


def note_all_reduce(given, world):
    torch._collective("ncclAllReduce", given, 2 * given * (world - 1) // world)


def note_broadcast(size, world, is_root=True):
    torch._collective("ncclBroadcast", size if is_root else 0, size * (world - 1) // world)


# ---- collectives that allocate memory ----


@torch.no_grad()
def _broadcast_coalesced(tensors, world):
    # Each bucket is copied to one flat tensor, sent and copied back; two are in flight at once. A bucket of one tensor
    # is sent without a copy.
    in_flight = []
    for places in _by_first(_assign(tensors, [_BROADCAST_BUCKET])):
        if len(in_flight) == 2:
            in_flight.pop(0)
        parts = [tensors[i] for i in places]
        if len(parts) == 1:
            in_flight.append(parts[0].contiguous().view(-1))
        else:
            in_flight.append(torch.cat([t.contiguous().view(-1) for t in parts]))
        note_broadcast(sum([_bytes(t) for t in parts]), world)
    while len(in_flight) > 0:
        in_flight.pop(0)
    if torch._rank_count() > 0:
        for t in tensors:
            torch._broadcast(t, 0)


def _integers(count, dtype=torch.int64):
    return torch.empty(count, dtype=dtype, device="cuda")


def _verify_params_across_processes(params, world):
    # the processes exchange the number of parameters, and their sizes and strides
    count = _integers(1)
    of_each = [_integers(1) for i in range(world)]
    for i in range(world):  # an all_gather into tensors of their own
        note_broadcast(8, world, i == 0)
    numbers = sum([2 * p.dim() for p in params])
    metadata = _integers(numbers)
    note_broadcast(8 * numbers, world)
    del metadata
    while len(of_each) > 0:
        of_each.pop(0)


# ---- DistributedDataParallel ----


class DistributedDataParallel(nn.Module):
    def __init__(self, module, world):
        super().__init__()
        self.module = module
        self.world = world
        self.expects_gradients = False
        self.syncs_gradients = True  # False: under no_sync()
        self.reduced = [p for p in module.parameters() if p.requires_grad]
        if len(self.reduced) == 0:
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameter that "
                               "requires a gradient.")
        self.synced_buffers = list(module.buffers())
        self.syncs_buffers = True
        self.is_rebuilt = False
        _verify_params_across_processes(self.reduced, world)
        _broadcast_coalesced([p.detach() for p in module.parameters()] + self.synced_buffers, world)
        # one bucket of each dtype until the order of the gradients is known
        self.flat_gradients = []
        self._make_buckets(list(reversed(_by_first(_assign(self.reduced, [_NO_LIMIT])))))

    def _make_buckets(self, buckets):
        while len(self.flat_gradients) > 0:
            self.flat_gradients.pop(0)
        for i, places in enumerate(buckets):
            first = self.reduced[places[0]]
            numel = sum([self.reduced[p].numel() for p in places])
            flat = torch.empty(numel, dtype=first.dtype, device="cuda")
            torch._set_category(flat, "gradient")
            torch._set_name(flat, "bucket " + str(i) + " of DistributedDataParallel")
            self.flat_gradients.append(flat)

    def _rebuild_buckets(self):
        # before the second forward: buckets in the order in which gradients came, on which the processes agree
        order = torch._ready_order()
        if 0 < len(order) < len(self.reduced):
            raise RuntimeError("Expected to have finished reduction in the prior iteration before starting a new one. "
                               "This error indicates that your module has parameters that were not used in producing "
                               "loss. Parameter indices which did not receive grad: "
                               + " ".join([str(i) for i in range(len(self.reduced)) if i not in order]))
        if self.is_rebuilt or len(order) == 0:
            return
        self.is_rebuilt = True
        buckets = [[order[i] for i in places]
                   for places in _assign([self.reduced[i] for i in order], [_FIRST_BUCKET, _BUCKET])]
        indices = _integers(len(order) + 1, torch.int32)
        sizes = _integers(len(buckets), torch.int32)
        note_broadcast(4 * (len(order) + 1), self.world)
        note_broadcast(4 * len(buckets), self.world)
        del sizes, indices
        self._make_buckets(buckets)

    def note_reduced(self):
        # after a backward that has given every parameter its gradient: each bucket was reduced
        if self.expects_gradients and len(torch._ready_order()) == len(self.reduced):
            self.expects_gradients = False
            for flat in self.flat_gradients:
                note_all_reduce(_bytes(flat), self.world)
            if torch._rank_count() > 0:
                for p in self.reduced:
                    torch._all_reduce(p.grad)

    def forward(self, *inputs, **kwargs):
        grad = torch.is_grad_enabled()
        self.note_reduced()
        if grad:
            self._rebuild_buckets()
        if self.syncs_buffers and len(self.synced_buffers) > 0:
            _broadcast_coalesced(self.synced_buffers, self.world)
        output = self.module(*inputs, **kwargs)
        self.syncs_buffers = grad and self.syncs_gradients
        if self.syncs_buffers:
            torch._ready_expect(self.reduced)
            self.expects_gradients = True
        return output


# ---- ZeroRedundancyOptimizer ----


class ZeroRedundancyOptimizer(torch.optim.Optimizer):
    # An optimizer steps the parameters of this process; those of the other processes are received into their memory.
    def __init__(self, params, optimizer_class, world, rank, **defaults):
        for p in params:
            if p.dtype != params[0].dtype:
                raise ValueError("ZeroRedundancyOptimizer only supports using the same dense type for all parameters "
                                 "but got both "
                                 f"{params[0].dtype} and {p.dtype}")
        super().__init__(params, defaults)
        self.world = world
        self.rank = rank
        self.broadcasts = []  # bytes of each parameter, and whether this process sends it
        self.owners = []  # of each parameter that is sent, and its rank
        self.optim = optimizer_class([self._share_of(group, world) for group in self.param_groups], **defaults)

    def _share_of(self, group, world):
        # largest first, each to the process with the fewest elements
        sizes = [0] * world
        mine = []
        for p in sorted(group["params"], key=lambda p: p.numel(), reverse=True):
            owner = sizes.index(min(sizes))
            sizes[owner] += p.numel()
            self.broadcasts.append((_bytes(p), owner == self.rank))
            self.owners.append((p, owner))
            if owner == self.rank:
                mine.append(p)
        share = dict(group)
        share["params"] = mine
        return share

    def _sync_param_groups(self, source, destination):
        for a, b in zip(source, destination):
            for name in a:
                if name != "params":
                    b[name] = a[name]

    def step(self, closure=None):
        self._sync_param_groups(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(closure)
        if torch._rank_count() > 0:
            for p, owner in self.owners:
                torch._broadcast(p.detach(), owner)
        self._sync_param_groups(self.optim.param_groups, self.param_groups)
        for size, is_mine in self.broadcasts:
            note_broadcast(size, self.world, is_mine)
        return loss
