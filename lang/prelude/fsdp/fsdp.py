# lang/prelude/fsdp/fsdp.py - fully_shard (FSDP2) in one of `world` processes, this one being `rank`.
#
# For:       train.py; docs/internals/sharding.md has the sequence and how it was measured.
# Invariant: names, lists and their order are those of PyTorch 2.15's torch.distributed.fsdp._fully_shard, because the
#            memory events depend on them. No data is sent: the other processes are assumed to have the same values.
import torch
import torch.nn as nn
import _distributed as distributed
import _fsdp_params as fsdp_params
import _mesh as device_mesh
import _tensor_parallel as tensor_parallel

# Streams of their own, as numbers that the allocator keeps apart; torch.cuda.Stream() hands out 1 to 32.
_COPY_IN = 33
_REDUCE_SCATTER = 35
_ALL_REDUCE = 34

_NO_PASS = "no pass"
_FORWARD = "forward"
_PRE_BACKWARD = "pre-backward"
_POST_BACKWARD = "post-backward"


def check(net, settings):
    # refuse what is not known to be equal to PyTorch's, before anything is on the device
    device_mesh.check(settings)
    if settings["tp"] > 1:
        tensor_parallel.check_split(settings)
    if hasattr(net, "train_step") and settings["grad"] == "train":
        raise ValueError("shard=fsdp: a net with its own train_step is not supported; leave out train_step, or use "
                         "shard=ddp")
    if hasattr(net, "optimizer"):
        raise ValueError("shard=fsdp: a net with its own optimizer() is not supported; leave out optimizer, or use "
                         "shard=ddp")
    for name in ("fuse", "quantize"):
        if settings[name] != "off":
            raise ValueError(f"{name}={settings[name]}: together with shard=fsdp it is not supported yet")
    if settings["amp"] in ("O0", "O1", "O2", "O3"):
        raise ValueError(f"amp={settings['amp']}: Apex together with shard=fsdp is not modelled; use amp=bf16")
    if settings["checkpoint"] == "auto" or settings["checkpoint"].startswith("auto:"):
        raise ValueError(f"checkpoint={settings['checkpoint']}: placements are not planned for shard=fsdp yet; use "
                         "checkpoint=blocks")
    if settings["amp"] == "fp16" and settings["offload-policy"] == "cpu":
        raise ValueError("amp=fp16: with offload-policy=cpu gradients are on the host, where NCCL sends nothing of "
                         "what the GradScaler found in them; use amp=bf16, or mp-policy=bf16")
    if settings["mp-policy"] == "fp16":
        raise ValueError("mp-policy=fp16: gradients in float16 need a scale of the loss; use mp-policy=bf16")
    if settings["torch"] != "2.15":
        raise ValueError(f"torch={settings['torch']}: shard=fsdp is known of PyTorch 2.15 alone")
    shards = device_mesh.Mesh(settings).shards
    if torch._has_data() and settings["grad"] == "train" and shards > 1 and torch._rank_count() == 0:
        torch._warn("shard=fsdp: the shards of the other processes are not there, and this one's is used in their "
                    "place; so the losses are not those of a training")


# ---- inputs ----


class _PostBackward(torch.autograd.Function):
    # The inputs of a unit, whose gradients are its last ones. PyTorch: RegisterPostBackwardFunction.
    @staticmethod
    def forward(ctx, unit, *inputs):
        ctx.unit = unit
        return inputs

    @staticmethod
    def backward(ctx, *grads):
        ctx.unit.post_backward()
        return (None,) + grads


def _tensors_with_grad(value, found):
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            found.append(value)
    elif isinstance(value, tensor_parallel.DTensor):
        _tensors_with_grad(value.local, found)
    elif isinstance(value, (list, tuple)):
        for v in value:
            _tensors_with_grad(v, found)
    elif isinstance(value, dict):
        for v in value.values():
            _tensors_with_grad(v, found)


def _replaced(value, replacements):
    if isinstance(value, torch.Tensor):
        return replacements.pop(0) if value.requires_grad else value
    if isinstance(value, tensor_parallel.DTensor):
        return value.with_local(replacements.pop(0)) if value.local.requires_grad else value
    if isinstance(value, tuple):
        return tuple([_replaced(v, replacements) for v in value])
    if isinstance(value, list):
        return [_replaced(v, replacements) for v in value]
    if isinstance(value, dict):
        return {k: _replaced(v, replacements) for k, v in value.items()}
    return value


# ---- units ----


class _Policy:
    # MixedPrecisionPolicy(param_dtype, reduce_dtype), and whether there is a CPUOffloadPolicy(); other fields are the
    # defaults
    def __init__(self, value, offload):
        self.is_on_host = offload == "cpu"  # the shards, their gradients and the optimizer's state
        self.param_dtype = None if value == "off" else torch.bfloat16
        self.reduce_dtype = {"off": None, "bf16": torch.float32, "bf16-reduce": torch.bfloat16}[value]

    def cast(self, value):
        # cast_forward_inputs
        if self.param_dtype is None:
            return value
        if isinstance(value, torch.Tensor):
            return value.to(self.param_dtype) if value.is_floating_point() else value
        if isinstance(value, tensor_parallel.DTensor):
            return value.with_local(self.cast(value.local))
        if isinstance(value, tuple):
            return tuple([self.cast(v) for v in value])
        if isinstance(value, list):
            return [self.cast(v) for v in value]
        if isinstance(value, dict):
            return {k: self.cast(v) for k, v in value.items()}
        return value


class _Shared:
    # what the units of one model share: FSDPStateContext and FSDPCommContext
    def __init__(self, mesh):
        self.mesh = mesh
        self.shards = mesh.shards
        self.shard_rank = mesh.shard_rank
        self.units = []  # in the order of named_modules()
        self.reduces = True  # set_requires_gradient_sync
        self.forward_root = None
        self.is_callback_queued = False
        self.gathered_before = None
        self.reduced_before = []
        self.post_forward_order = []
        self.paths = {}  # of modules
        self.names = {}  # of parameters and buffers, by where they are
        self.grad_layouts = {}  # as tensor_parallel.parallelize_over() has them

    def name_of(self, m, name):
        return self.names[self.paths[m] + "." + name]

    def after_backward(self):
        for unit in self.units:
            if unit.group_state != _POST_BACKWARD and len(unit.params) > 0:
                unit.post_backward()
            unit.group_state = _NO_PASS
            unit.state = _NO_PASS
        for unit in self.units:
            unit.all_reduce_input = None
            unit.gathered = None
            unit.post_forward_indices.clear()
        self.gathered_before = None
        self.post_forward_order.clear()
        self.reduced_before.clear()
        self.is_callback_queued = False


class FSDPParamGroup:
    # A unit: parameters that are gathered together; with what PyTorch has in FSDPState
    # dtype: of shards and their gradients; None where there are no parameters
    def __init__(self, path, shared, dtype, reshards, policy):
        self.path = path
        self.shared = shared
        self.params = []  # and of each of them, in the same order:
        self.slots = []  # [(module, name)]: where it is
        self.shards = []  # flat, with padding
        self.sizes = []  # numbers of elements of these
        self.numel = 0  # the sum of sizes
        self.sharded = []  # what the optimizer trains: a part of the shard
        self.outputs = []  # PyTorch: all_gather_outputs; from the first one on, memory that comes and goes
        self.unsharded = []  # parameters over that memory
        self.grads = []  # whole gradients that are reduced now
        self.reshards = reshards
        self.policy = policy
        self.dtype = dtype
        self.casts = policy.param_dtype is not None and dtype is not None and policy.param_dtype != dtype
        self.param_dtype = policy.param_dtype if self.casts else self.dtype  # of what is gathered
        # of whole gradients that wait for a later reduction; PyTorch: unsharded_grad_dtype
        self.grad_dtype = policy.reduce_dtype or self.dtype
        self.grads_widen = self.grad_dtype == torch.float32 and self.param_dtype != torch.float32
        self.is_unsharded = False
        self.was_unsharded = False
        self.state = _NO_PASS
        self.group_state = _NO_PASS
        self.gathered = None
        self.all_reduce_input = None  # with replicas: until the end of backward, or the next reduction of the unit
        self.post_forward_indices = []

    def add(self, data, slots, name, grad_layout):
        # a parameter that is whole on the device: its shard takes its place in the modules
        mesh = self.shared.mesh
        p = fsdp_params.Param(data, name, mesh, grad_layout)
        rows = (p.size[0] + mesh.shards - 1) // mesh.shards
        mine = max(0, min(rows, p.size[0] - mesh.shard_rank * rows))
        padded = data.new_zeros((rows,) + p.size[1:])
        torch._set_category(padded, "parameter")
        if mine > 0:
            padded.narrow(0, 0, mine).copy_(data.narrow(0, mesh.shard_rank * rows, mine))
        if self.policy.is_on_host:
            padded = padded.to("cpu")  # and pinned
        self.params.append(p)
        self.slots.append(slots)
        self.shards.append(padded.view(-1))
        self.sizes.append(padded.numel())
        self.numel += padded.numel()
        self.sharded.append(nn.Parameter(padded.narrow(0, 0, mine), requires_grad=data.requires_grad))
        torch._set_name(self.sharded[-1], name)
        for m, key in slots:
            setattr(m, key, self.sharded[-1])

    # ---- all-gather ----

    def unshard(self):
        if self.gathered is None and not self.is_unsharded and len(self.params) > 0:
            self.gathered = () if self.shared.shards == 1 else (self.all_gather(),)

    @torch.no_grad()
    def all_gather(self):
        shards = self.shared.shards
        rank = self.shared.shard_rank
        is_apart = self.group_state == _FORWARD or self.group_state == _PRE_BACKWARD
        before = torch._stream(_COPY_IN if is_apart else -1)
        cast = self.cast_shards()
        numel = self.numel
        output = torch.empty(numel * shards, dtype=self.param_dtype, device="cuda")
        torch._set_category(output, "other")
        torch._set_name(output, "all-gather of " + self.path)
        own = output.narrow(0, numel * rank, numel)
        torch._foreach_copy_(own.split(self.sizes), self.shards if cast is None else cast)
        del cast
        rows = output.view(shards, -1)
        if rank > 0:
            rows.narrow(0, 0, rank).copy_(own)
        if rank + 1 < shards:
            rows.narrow(0, rank + 1, shards - rank - 1).copy_(own)
        torch._gather(output)
        torch._stream(before)
        distributed.note_all_gather(numel * output.element_size(), shards)
        return output

    def cast_shards(self):
        # what is sent of each parameter; None: its shard as it is
        if self.policy.is_on_host:
            return [self.to_device(shard) for shard in self.shards]
        if not self.casts:
            return None
        flat = torch.empty(self.numel, dtype=self.param_dtype, device="cuda")
        torch._set_category(flat, "cast")
        splits = flat.split(self.sizes)
        torch._foreach_copy_(splits, self.shards)
        return splits

    def to_device(self, shard):
        on_device = shard.to("cuda")
        torch._set_category(on_device, "parameter")
        return on_device.to(self.param_dtype)

    def wait_for_unshard(self):
        if self.gathered is None:
            return
        shared = self.shared
        if self.group_state == _FORWARD:
            shared.gathered_before = None
        self.copy_out()
        if not self.was_unsharded:
            for i, p in enumerate(self.params):
                self.unsharded.append(p.unsharded_over(self.outputs[i], self.sharded[i].requires_grad, self.grad_dtype))
            self.was_unsharded = True
        torch._set_attributes(self.slots, self.unsharded)
        self.is_unsharded = True
        if self.group_state == _FORWARD and shared.shards > 1:
            shared.gathered_before = self.gathered
        self.gathered = None

    @torch.no_grad()
    def copy_out(self):
        shards = self.shared.shards
        if shards == 1:
            for i, p in enumerate(self.params):
                if self.policy.is_on_host:
                    given = self.to_device(self.shards[i])
                else:
                    given = self.shards[i].to(self.param_dtype)
                if self.was_unsharded:
                    torch._alloc_storages(self.outputs[i:i + 1])
                else:
                    self.outputs.append(p.new_output(self.sizes[i], self.param_dtype))
                self.outputs[i].copy_(given)
            return
        if self.was_unsharded:
            torch._alloc_storages(self.outputs)
        else:
            for p, size in zip(self.params, self.sizes):
                self.outputs.append(p.new_output(size * shards, self.param_dtype))
        packed = _packed(self.sizes, self.outputs[0].element_size(), shards, "split")
        torch._op.split_with_sizes_copy_(self.outputs, self.gathered[0].view(shards, -1))
        del packed

    def reshard(self):
        if self.group_state == _FORWARD and not self.reshards:
            return
        if self.is_unsharded:
            torch._set_attributes(self.slots, self.sharded)
            torch._free_storages(self.outputs)
            self.is_unsharded = False

    # ---- forward ----

    def pre_forward(self, args, kwargs):
        if self.state == _PRE_BACKWARD:
            # a checkpoint runs the unit again: the hook of its output has gathered the parameters
            if not self.is_unsharded:
                self.unshard()
                self.wait_for_unshard()
            return self.policy.cast(args), self.policy.cast(kwargs)
        if self.state != _FORWARD:
            self.state = _FORWARD
            if self.shared.forward_root is None:
                self.shared.forward_root = self
        args = self.policy.cast(args)
        kwargs = self.policy.cast(kwargs)
        if len(self.params) == 0:
            return args, kwargs
        is_entered = self.group_state != _FORWARD
        self.group_state = _FORWARD
        self.unshard()
        self.wait_for_unshard()
        if is_entered and torch.is_grad_enabled():
            found = []
            _tensors_with_grad((args, kwargs), found)
            if len(found) > 0:
                args, kwargs = _replaced((args, kwargs), list(_PostBackward.apply(self, *found)))
        return args, kwargs

    def post_forward(self, output):
        shared = self.shared
        if self.state == _PRE_BACKWARD:
            return output
        if len(self.params) > 0:
            if not torch._is_in_backward():
                self.reshard()
                self.post_forward_indices.append(len(shared.post_forward_order))
                shared.post_forward_order.append(self)
            self.group_state = _NO_PASS
        if torch.is_grad_enabled():
            found = []
            _tensors_with_grad(output, found)
            for t in found:
                torch._before_backward_of(t, self.pre_backward)
            found.clear()
        self.state = _NO_PASS
        if shared.forward_root is self:
            shared.gathered_before = None
            shared.forward_root = None
        return output

    # ---- backward ----

    def pre_backward(self):
        self.state = _PRE_BACKWARD
        if not self.shared.is_callback_queued:
            self.shared.is_callback_queued = True
            torch._after_backward(self.shared.after_backward)
        if len(self.params) == 0 or self.group_state == _PRE_BACKWARD:
            return
        self.group_state = _PRE_BACKWARD
        self.unshard()
        self.wait_for_unshard()
        self.set_grad_dtypes(True)
        if len(self.post_forward_indices) > 0:
            at = self.post_forward_indices.pop()
            if at > 0:
                self.shared.post_forward_order[at - 1].prefetch()

    def prefetch(self):
        before = self.group_state
        self.group_state = _PRE_BACKWARD
        self.unshard()
        self.group_state = before

    def set_grad_dtypes(self, defers):
        # Gradients stay as backward makes them: what fills the reduce-scatter casts them, and they are added in place
        # to wider ones. Only where they are kept without a reduction, the first ones are cast. Those that the processes
        # of tp may have to reduce are wide from the beginning.
        if not self.grads_widen or not self.was_unsharded:
            return
        for i, p in enumerate(self.params):
            if not self.unsharded[i].requires_grad or p.is_replicated:
                continue
            if not defers:
                torch._set_grad_dtype(self.unsharded[i], self.grad_dtype)
            elif self.unsharded[i].grad is not None or self.shared.reduces:
                torch._set_grad_dtype(self.unsharded[i], None)

    def post_backward(self):
        self.group_state = _POST_BACKWARD
        if not self.shared.reduces:
            self.set_grad_dtypes(False)
            self.reshard()
            return
        self.grads, indices = torch._take_gradients(self.unsharded)
        if len(self.shared.grad_layouts) > 0:
            for i, index in enumerate(indices):
                if self.params[index].grad_layout is not None:
                    self.grads[i] = self.params[index].redistributed(self.grads[i])
        self.set_grad_dtypes(False)
        self.reshard()
        while len(self.shared.reduced_before) > 0:
            self.shared.reduced_before.pop(0)
        if len(indices) > 0:
            self.all_reduce_input = None
            self.shared.reduced_before.append(self.reduce(indices))

    @torch.no_grad()
    def reduce(self, indices):
        # indices: of self.grads in the lists of parameters
        shards = self.shared.shards
        sizes = [self.sizes[i] for i in indices]
        numel = sum(sizes)
        given = torch.empty(numel * shards, dtype=self.policy.reduce_dtype or self.dtype, device="cuda")
        torch._set_category(given, "gradient")
        torch._set_name(given, "reduce-scatter of " + self.path)
        is_mixed = self.grads_widen and any([grad.dtype != self.grads[0].dtype for grad in self.grads])
        packed = _packed(sizes, given.element_size(), shards, "chunk_cat_mixed" if is_mixed else "chunk_cat")
        if not torch._are_dense(self.grads):
            self.refuse_gradients(indices)
        torch._chunk_cat_(given.view(shards, -1), self.grads)
        del packed
        self.grads.clear()
        before = torch._stream(_REDUCE_SCATTER)
        output = torch.empty(numel, dtype=given.dtype, device="cuda")
        torch._set_category(output, "gradient")
        output.copy_(given.view(shards, -1)[self.shared.shard_rank])
        torch._reduce_scatter(output, given)
        if shards > 1:
            distributed.note_reduce_scatter(numel * shards * given.element_size(), shards)
        if self.shared.mesh.replicas > 1:
            torch._stream(_ALL_REDUCE)
            distributed.note_all_reduce(numel * output.element_size(), self.shared.mesh.replicas)
            self.all_reduce_input = output
        flat = output.to(self.dtype)
        torch._set_category(flat, "gradient")
        torch._split_gradients(flat, self.sharded, indices, self.sizes, self.policy.is_on_host)
        torch._stream(before)
        return given

    def refuse_gradients(self, indices):
        for i, index in enumerate(indices):
            if not torch._are_dense(self.grads[i:i + 1]):
                raise NotImplementedError(f"shard=fsdp: the gradient of {self.params[index].name} is not dense in "
                                          "memory, which is not supported")


def _packed(sizes, element_size, shards, kind):
    # the addresses and sizes that PyTorch's kernel reads on the device
    packed = torch.empty(torch._packed_pointers(sizes, element_size, shards, kind), dtype=torch.int64, device="cuda")
    torch._set_category(packed, "workspace")
    return packed


# ---- fully_shard ----


def _managed(module, units, found):
    # depth first, children before their parent, without units below; units and found: the keys of a dict
    if module in found:
        return
    for child in module.children():
        if child not in units and child not in found:
            _managed(child, units, found)
    found[module] = True


def _dtype_of(params):
    dtypes = []
    for p in params:
        if p.dtype not in dtypes:
            dtypes.append(p.dtype)
    trained = [d for d in dtypes if any([p.dtype == d and p.requires_grad for p in params])]
    if len(trained) > 1:
        raise AssertionError("FSDP expects uniform original parameter dtype but got {"
                             + ", ".join([str(d) for d in trained]) + "}")
    if len(dtypes) > 1:
        raise ValueError("shard=fsdp: frozen parameters of another dtype than the trained ones in one unit are not "
                         "supported yet")
    return dtypes[0] if len(dtypes) > 0 else None


@torch.no_grad()
def _shard_unit(module, path, units, shared, reshards, policy):
    modules = {}
    _managed(module, units, modules)
    slots = {}
    buffers = []
    for m in modules:
        for name, p in m._parameters.items():
            if p is not None:
                slots.setdefault(p, []).append((m, name))
        for name, b in m._buffers.items():
            if b is not None:
                buffers.append((m, name))
    params = list(slots.keys())
    in_order = [p for name, p in module.named_parameters() if p in slots]
    moved = {}
    for p in params:
        moved[p] = p.to("cuda")
    for m, name in buffers:
        b = getattr(m, name).to("cuda")
        torch._set_category(b, "buffer")
        torch._set_name(b, shared.name_of(m, name))
        setattr(m, name, b)
    unit = FSDPParamGroup(path, shared, _dtype_of(params), reshards, policy)
    for p in params:
        moved[p].requires_grad_(p.requires_grad)
        m, name = slots[p][0]
        unit.add(moved[p], slots[p], shared.name_of(m, name), shared.grad_layouts.get(m))
    # PyTorch compares the names of parameters before and after: so these hold them until the end
    slots.clear()
    params.clear()
    p = None
    while len(in_order) > 0:
        moved.pop(in_order.pop(0))
    return unit


def _with_unit(plain, unit):
    def forward(*args, **kwargs):
        args, kwargs = unit.pre_forward(args, kwargs)
        output = plain(*args, **kwargs)
        return unit.post_forward(output)

    return forward


def _names_of(model):
    # The names of parameters and buffers by where they are: the first one where one is in several indices. A dict with
    # the tensors themselves would keep them when their units have been sharded.
    full_names = {p: name for name, p in model.named_parameters()}
    full_names.update({b: name for name, b in model.named_buffers()})
    names = {}
    for path, m in model.named_modules():
        for name, t in list(m._parameters.items()) + list(m._buffers.items()):
            if t is not None:
                names[path + "." + name] = full_names[t]
    return names


def fully_shard(model, blocks, settings):
    # the blocks, a block in another one before it, then the model with what is left; `model` is on the host, and on the
    # device afterwards
    shared = _Shared(device_mesh.Mesh(settings))
    if shared.mesh.tp is not None:
        shared.grad_layouts = tensor_parallel.parallelize_over(model, shared.mesh.tp, settings)[1]
    shared.paths = {m: name for name, m in model.named_modules()}
    shared.names = _names_of(model)
    reshards = settings["reshard"] == "on"
    policy = _Policy(settings["mp-policy"], settings["offload-policy"])
    made = {}
    for m in blocks:
        unit = _shard_unit(m, shared.paths[m], made, shared, reshards, policy)
        m.forward = _with_unit(m.forward, unit)
        made[m] = unit
    shared.units.extend([made[m] for m in shared.paths if m in made])
    # the root's parameters are needed first in backward: they stay
    unit = _shard_unit(model, "the root", made, shared, False, policy)
    model.forward = _with_unit(model.forward, unit)
    shared.units.insert(0, unit)  # the order of named_modules()
    return shared
