# lang/prelude/dtensor/dtensor.py - DTensor: what a process has of a tensor, and how one layout becomes another.
#
# For:       tensor_parallel.py, context_parallel.py, mesh.py and fsdp_params.py.
# Invariant: what is allocated, and in which order, is what PyTorch 2.15's DTensor and functional collectives do; a
#            collective reads its input until its result is used (torch._set_pending). No data is sent: the parts of
#            other processes are assumed to be like this one's.
import torch
import torch.optim as optim

import _distributed as distributed

# A layout is a number, the dimension that processes have equal parts of, or one of these:
REPLICATE = "replicate"
PARTIAL = "partial"  # each process has a tensor of the whole size, and the sum of all is meant


class Group:
    # The processes of one dimension of a mesh, which share DTensors. rank: of this process among them;
    # world_rank: among all, which are `world`
    def __init__(self, size, rank, world, world_rank):
        self.size = size
        self.rank = rank
        self.world = world
        self.world_rank = world_rank
        self.has_random_state = False


class Uses:
    # which layout the gradient of a DTensor has, as those who use it say
    def __init__(self):
        self.grad = None

    def note(self, layout):
        if self.grad is not None and self.grad != layout:
            raise NotImplementedError("tp-plan: a DTensor that is used in two ways, so that its gradients have two "
                                      f"layouts ({layout} and {self.grad}), is not followed here")
        self.grad = layout


class DTensor:
    # mask: of an embedding split by rows, which of the indices are not this process's; gone when it has been applied
    def __init__(self, local, layout, group, uses=None):
        torch._set_dtensor(local)
        self.local = local
        self.layout = layout
        self.group = group
        self.uses = Uses() if uses is None else uses
        self.mask = None
        sizes = list(local.shape)
        if not isinstance(layout, str):
            sizes[layout] = sizes[layout] * group.size
        self.shape = tuple(sizes)
        self.dtype = local.dtype
        self.device = local.device

    def with_local(self, local):
        # the same DTensor, of which this process has `local`
        return DTensor(local, self.layout, self.group, self.uses)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def dim(self):
        return self.local.dim()

    def flatten(self, start_dim=0, end_dim=-1):
        dims = self.local.dim()
        start = start_dim % dims
        end = end_dim % dims
        layout = self.layout
        if not isinstance(layout, str):
            if start < layout and layout <= end:
                raise NotImplementedError(f"tp-plan: flatten() of dimensions {start} to {end} of a DTensor that is "
                                          f"split along dimension {layout} is not followed here")
            if layout > end:
                layout = layout - (end - start)
        return DTensor(self.local.flatten(start_dim, end_dim), layout, self.group, self.uses)

    def float(self):
        return DTensor(self.local.float(), self.layout, self.group, self.uses)


def layout_of(word, dims):
    # of a tensor of `dims` dimensions, as the plan says it: "replicate", "shard1", "shard-1"
    if word == REPLICATE:
        return REPLICATE
    return int(word[len("shard"):]) % dims


# ---- collectives ----


def _like(t, sizes):
    result = torch.empty(sizes, dtype=t.dtype, device=t.device)
    torch._set_category(result, "other")
    return result


def _bytes(t):
    return t.numel() * t.element_size()


def all_reduce(t, group, is_sum=True):
    result = _like(t, t.shape)
    result.copy_(t)
    if is_sum:
        result.mul_(group.size)
    distributed.note_all_reduce(_bytes(t), group.size)
    return result


def all_gather(t, dim, group):
    if not t.is_contiguous():
        t = t.contiguous()
    sizes = list(t.shape)
    sizes[0] = sizes[0] * group.size
    gathered = _like(t, sizes)
    gathered.view([group.size] + list(t.shape)).copy_(t)
    distributed.note_all_gather(_bytes(t), group.size)
    torch._set_pending(gathered, t)
    if dim == 0:
        return gathered
    rows = t.shape[0]
    for i in range(1, dim):
        rows = rows * t.shape[i]
    if rows == 1:  # the parts lie one behind the other already
        sizes = list(t.shape)
        sizes[dim] = sizes[dim] * group.size
        return gathered.view(sizes)
    torch._set_pending(gathered, None)
    return torch.cat(gathered.chunk(group.size, 0), dim)


def reduce_scatter(t, dim, group):
    if t.shape[dim] % group.size != 0:
        raise ValueError(f"tp-plan: dimension {dim}, of size {t.shape[dim]}, does not divide into {group.size} equal "
                         "parts; uneven ones are not followed here")
    if not t.is_contiguous():
        t = t.contiguous()
    if dim != 0:
        t = torch.cat(t.chunk(group.size, dim), 0)
    sizes = list(t.shape)
    sizes[0] = sizes[0] // group.size
    result = _like(t, sizes)
    result.copy_(t.narrow(0, sizes[0] * group.rank, sizes[0])).mul_(group.size)
    distributed.note_reduce_scatter(_bytes(t), group.size)
    torch._set_pending(result, t)
    return result


def relaid(t, source, target, group):
    # `t`, of layout `source`, with layout `target`
    if source == target:
        return t
    if target == REPLICATE:
        return all_reduce(t, group) if source == PARTIAL else all_gather(t, source, group)
    if source == PARTIAL:
        return reduce_scatter(t, target, group)
    if source == REPLICATE:
        if t.shape[target] % group.size != 0:
            raise ValueError(f"tp-plan: dimension {target}, of size {t.shape[target]}, does not divide into "
                             f"{group.size} equal parts; uneven ones are not followed here")
        return t.chunk(group.size, target)[group.rank].clone()
    raise NotImplementedError(f"tp-plan: from a tensor split along dimension {source} to one split along dimension "
                              f"{target} is not followed here; give it whole: output=replicate")


# ---- what DTensor does to autograd's graph ----


class _FromLocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t, layout, uses, group):
        ctx.layout = layout
        ctx.uses = uses
        ctx.group = group
        return t

    @staticmethod
    def backward(ctx, grad):
        return relaid(grad, ctx.uses.grad or ctx.layout, ctx.layout, ctx.group), None, None, None


class _Redistribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t, given, target, uses, is_async):
        ctx.is_async = is_async
        ctx.layout = REPLICATE if given.layout == PARTIAL else given.layout
        ctx.target = target
        ctx.uses = uses
        ctx.group = given.group
        if given.mask is not None:
            t.masked_fill_(given.mask.unsqueeze(-1), 0)
            given.mask = None
        result = relaid(t, given.layout, target, given.group)
        if not is_async:
            torch._set_pending(result, None)
        return result

    @staticmethod
    def backward(ctx, grad):
        layout = ctx.target if ctx.uses.grad is None else ctx.uses.grad
        result = relaid(grad, layout, ctx.layout, ctx.group)
        if not ctx.is_async:
            torch._set_pending(result, None)
        return result, None, None, None, None


class _Local(torch.autograd.Function):
    # a view that nobody may overwrite
    @staticmethod
    def forward(ctx, t):
        return t

    @staticmethod
    def backward(ctx, grad):
        return grad


def from_local(t, layout, group):
    uses = Uses()
    return DTensor(_FromLocal.apply(t, layout, uses, group), layout, group, uses)


def redistribute(d, target, is_async=True):
    # is_async: the collective may still run when this returns
    uses = Uses()
    d.uses.note(REPLICATE if d.layout == PARTIAL else d.layout)
    return DTensor(_Redistribute.apply(d.local, d, target, uses, is_async), target, d.group, uses)


def to_local(d):
    d.uses.note(REPLICATE if d.layout == PARTIAL else d.layout)
    if not torch.is_grad_enabled():
        return d.local
    return _Local.apply(d.local)


# ---- random numbers ----


def _state():
    return torch.empty(16, dtype=torch.uint8, device="cuda")


def draw(t, group):
    # before an op on `t` draws numbers: the state of the generator goes through the device; the first time the
    # processes take over that of the first one
    if not group.has_random_state:
        group.has_random_state = True
        mine = _state()
        if group.size == group.world:  # it waits for a collective of the same processes
            torch._set_pending(t, None)
        theirs = _state()
        copied = _state()
        distributed.note_broadcast(16, group.world, group.world_rank == 0)
        del copied, mine, theirs
    state = _state()
    del state


# ---- optimizers ----
#
# optim.py's own functions run. Where one of their ops gets a gradient that is a partial sum, or that of a whole table,
# beside a tensor that is neither, DTensor's dispatch makes what fits for this op alone, once for each argument.


def _is_partial(t):
    return torch._shares(t) > 1


def _whole(t, like, group):
    # `t` as an argument of an op that writes to `like`
    if _is_partial(like) or not _is_partial(t):
        return t
    if t.shape[0] != like.shape[0]:  # the whole gradient of an embedding, of which this process needs its part
        return relaid(t, REPLICATE, 0, group)
    return all_reduce(t, group)


class _Operand:
    # a tensor whose methods take partial sums: what the functions over single tensors see of a parameter or a state
    def __init__(self, local, group):
        self.local = local
        self.group = group

    def mul_(self, other):
        self.local.mul_(other)
        return self

    def add_(self, other, alpha=1):
        self.local.add_(_whole(_plain(other), self.local, self.group), alpha=alpha)
        return self

    def lerp_(self, end, weight):
        self.local.lerp_(_whole(end, self.local, self.group), weight)
        return self

    def addcmul_(self, tensor1, tensor2, value=1):
        tensor1 = _whole(tensor1, self.local, self.group)
        tensor2 = _whole(tensor2, self.local, self.group)
        self.local.addcmul_(tensor1, tensor2, value=value)
        del tensor2
        return self

    def addcdiv_(self, tensor1, tensor2, value=1):
        self.local.addcdiv_(_plain(tensor1), tensor2, value=value)
        return self

    def sqrt(self):
        return self.local.sqrt()


def _plain(t):
    return t.local if isinstance(t, _Operand) else t


def _over_operands(plain, group):
    # plain(params, grads, state, ...): a state that is a list of tensors, or of None
    def update(params, grads, *rest):
        states = [[t if t is None or not isinstance(t, torch.Tensor) else _Operand(t, group) for t in state]
                  if isinstance(state, list) else state for state in rest]
        plain([_Operand(p, group) for p in params], grads, *states)
        for state, used in zip(rest, states):
            if isinstance(state, list):
                for i in range(len(state)):
                    state[i] = _plain(used[i])

    return update


def _over_lists(plain, group):
    def op(tensors, *rest, **words):
        lists = [[_whole(t, like, group) for t, like in zip(given, tensors)]
                 if isinstance(given, list) and isinstance(given[0], torch.Tensor) else given for given in rest]
        plain(tensors, *lists, **words)
        for i in reversed(range(len(lists))):
            while isinstance(lists[i], list) and lists[i] is not rest[i] and len(lists[i]) > 0:
                lists[i].pop()

    return op


def _first_momentum(plain):
    def clone(grad):
        buf = plain(grad)
        if _is_partial(grad):
            torch._set_shares(buf, torch._shares(grad))
        return buf

    return clone


def _marking(plain, partial, group):
    def update(params, grads, *rest):
        for p, grad in zip(params, grads):
            if p in partial:
                torch._set_shares(grad, group.size)
        plain(params, grads, *rest)

    return update


def enter_optimizers(partial, group):
    # partial: a dict whose keys are the parameters with such gradients
    optim._single_tensor_sgd = _marking(_over_operands(optim._single_tensor_sgd, group), partial, group)
    optim._single_tensor_adam = _marking(_over_operands(optim._single_tensor_adam, group), partial, group)
    optim._multi_tensor_sgd = _marking(optim._multi_tensor_sgd, partial, group)
    optim._multi_tensor_adam = _marking(optim._multi_tensor_adam, partial, group)
    optim._first_momentum = _first_momentum(optim._first_momentum)
    torch._foreach_add_ = _over_lists(torch._foreach_add_, group)
    torch._foreach_lerp_ = _over_lists(torch._foreach_lerp_, group)
    torch._foreach_addcmul_ = _over_lists(torch._foreach_addcmul_, group)
