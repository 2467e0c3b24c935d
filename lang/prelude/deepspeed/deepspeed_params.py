# lang/prelude/deepspeed/deepspeed_params.py - partitioned parameters of DeepSpeed's ZeRO stage 3: gathered before a
# module needs them, freed after it.
#
# For:       deepspeed_stage3.py; docs/internals/deepspeed.md has the sequence and how it was measured.
# Invariant: names, lists and their order are those of DeepSpeed 0.19's runtime/zero/partition_parameters.py,
#            partitioned_param_coordinator.py, parameter_offload.py and linear.py, because the memory events depend on
#            them. Where DeepSpeed walks a set, whose order is that of addresses, this is the order of the parameters.
#            No data is sent: this process's partition takes the place of the others'.
import torch
import torch.nn.functional as F
import _distributed as distributed

_GATHER = 37  # the stream of overlap-comm=on that parameters are gathered on; deepspeed.py has 36

_NOT_AVAILABLE = "not available"
_INFLIGHT = "inflight"
_AVAILABLE = "available"


# ---- one parameter ----


class Param:
    # What DeepSpeed keeps as attributes ds_* of a parameter. `partition` is this process's part of it.
    def __init__(self, param, name, number, world, rank):
        self.param = param
        self.name = name
        self.number = number
        self.shape = tuple(param.shape)
        self.numel = param.numel()
        self.partition_numel = (self.numel + world - 1) // world
        self.start = self.partition_numel * rank
        self.status = _AVAILABLE
        self.persists = False
        self.active = {}  # modules that need it now
        self.partition = None
        self._make_partition(world)
        self.free()

    def _make_partition(self, world):
        self.partition = torch.empty(self.partition_numel, dtype=self.param.dtype, device="cuda")
        torch._set_category(self.partition, "parameter")
        torch._set_name(self.partition, self.name)
        one_dim_param = self.param.detach().contiguous().view(-1)
        mine = min(self.partition_numel, self.numel - self.start)
        if mine > 0:
            self.partition.narrow(0, 0, mine).copy_(one_dim_param.narrow(0, self.start, mine))

    def free(self):
        if self.status == _AVAILABLE:
            torch._record_stream(self.param, torch._stream(-1))
            self.param.data = torch.empty(0, dtype=self.param.dtype, device="cuda")
        self.status = _NOT_AVAILABLE

    def set_whole(self, flat):
        # flat: the partitions of all processes
        torch._set_category(flat, "parameter")
        torch._set_name(flat, self.name)
        self.param.data = flat.narrow(0, 0, self.numel).view(self.shape)


def _fill(rows, own, rank):
    # each row of an all-gather's output is what this process gives
    world = rows.shape[0]
    if rank > 0:
        rows.narrow(0, 0, rank).copy_(own)
    if rank + 1 < world:
        rows.narrow(0, rank + 1, world - rank - 1).copy_(own)


# ---- all-gathers ----


class _GatherOfOne:
    # AllGatherHandle
    def __init__(self, param):
        self.param = param

    def wait(self):
        self.param.status = _AVAILABLE


class _NoGather:
    # NoGatherHandle, NoGatherCoalescedHandle: one process has everything
    def __init__(self, params):
        self.params = params
        self.is_complete = False
        for p in params:
            p.param.data = p.partition.view(p.shape)

    def wait(self):
        if self.is_complete:
            return
        for p in self.params:
            p.status = _AVAILABLE
        self.is_complete = True


class _Gather:
    # AllGatherCoalescedHandle: row r of `rows` has what process r gave, the partitions of all parameters
    def __init__(self, params, rows):
        self.params = params
        self.rows = rows
        self.is_complete = False

    def wait(self):
        if self.is_complete:
            return
        offset = 0
        for p in self.params:
            whole = torch.empty(p.numel, dtype=self.rows.dtype, device="cuda")
            part = p.partition_numel
            full = p.numel // part
            rest = p.numel - full * part
            whole.narrow(0, 0, full * part).view(full, part).copy_(self.rows.narrow(0, 0, full).narrow(1, offset, part))
            if rest > 0:
                whole.narrow(0, full * part, rest).copy_(self.rows[full].narrow(0, offset, rest))
            p.set_whole(whole)
            p.status = _AVAILABLE
            torch._record_stream(self.rows, torch._stream(-1))
            offset += part
        self.is_complete = True


class Gatherer:
    # zero.Init's side of it: the processes, and the stream of all-gathers
    def __init__(self, settings):
        self.world = settings["world"]
        self.rank = int(settings["rank"])
        self.stream = _GATHER if settings["overlap-comm"] == "on" else -1

    def all_gather_coalesced(self, params):
        for p in params:
            p.status = _INFLIGHT
        params = sorted(params, key=lambda p: p.number)
        if self.world == 1:
            return _NoGather(params)
        if len(params) == 1:
            p = params[0]
            p.set_whole(self._gathered(p))
            return _GatherOfOne(p)
        sizes = [p.partition_numel for p in params]
        numel = sum(sizes)
        flat_tensor = torch.empty(numel * self.world, dtype=params[0].partition.dtype, device="cuda")
        torch._set_category(flat_tensor, "other")
        torch._set_name(flat_tensor, "all-gather of " + params[0].name)
        rows = flat_tensor.view(self.world, -1)
        own = flat_tensor.narrow(0, numel * self.rank, numel)
        torch._foreach_copy_(own.split(sizes), [p.partition for p in params])
        _fill(rows, own, self.rank)
        distributed.note_all_gather(numel * flat_tensor.element_size(), self.world)
        return _Gather(params, rows)

    def _gathered(self, p):
        flat_tensor = torch.empty(p.partition_numel * self.world, dtype=p.partition.dtype, device="cuda")
        flat_tensor.narrow(0, p.start, p.partition_numel).copy_(p.partition)
        _fill(flat_tensor.view(self.world, -1), p.partition, self.rank)
        distributed.note_all_gather(p.partition_numel * flat_tensor.element_size(), self.world)
        return flat_tensor

    def all_gather(self, param_list):
        # at once, each into memory of its own
        params = [p for p in param_list if p.status == _NOT_AVAILABLE]
        if len(params) > 1 and self.world == 1:
            _NoGather(params)
        else:
            for p, flat_tensor in [(p, self._gathered(p)) for p in params]:
                p.set_whole(flat_tensor)
        for p in params:
            p.status = _AVAILABLE


# ---- the coordinator ----

_INVALID = "invalid"
_RECORD = "record"
_COMPLETE = "complete"


def _agree(count, world, is_root):
    # ranks compare so many numbers
    numbers = torch.empty(count, dtype=torch.int64, device="cuda")
    torch._set_category(numbers, "temporary")
    distributed.note_broadcast(8 * count, world, is_root)


class Coordinator:
    # PartitionedParameterCoordinator: the first step records the order of modules, later ones gather ahead of it
    def __init__(self, params, gatherer, settings):
        self.params = params  # by tensor
        self.gatherer = gatherer
        self.prefetch_bucket_size = int(settings["stage3-prefetch-bucket-size"])
        self.max_available = int(settings["stage3-max-live-parameters"])
        self.max_reuse_distance = int(settings["stage3-max-reuse-distance"])
        self.module_stack = []  # the modules whose forward runs
        self.external = {}  # parameters that a module uses of others, by module
        self.inflight = {}  # handles by parameter
        self.step_id = 0
        self.trace_mode = _INVALID
        self.submodule_order = []
        self.param_order = []
        self.last_fetched = {}  # the step that a parameter was last fetched for
        self.fetched_at = {}
        self.available = 0
        self.queue = []
        self.active_backward = {}
        self.recomputed = {}  # frozen parameters that a module's recomputation has fetched
        self.to_release = {}  # by module and step: once decided, decided

    def params_of(self, module):
        found = {}
        for param in module._parameters.values():
            if param is not None:
                found[self.params[param]] = True
        for p in self.external.get(module, {}):
            found[p] = True
        return found

    def before_empty_read(self, param):
        # a module uses a parameter of another one, which has not gathered it: it is fetched with its own from now on
        p = self.params[param]
        if p.status == _NOT_AVAILABLE and len(self.module_stack) > 0 and not torch._is_in_backward():
            self.external.setdefault(self.module_stack[-1], {})[p] = True
            self.gatherer.all_gather([p])

    # ---- the trace ----

    def _clean_inflight(self):
        for p, handle in self.inflight.items():
            handle.wait()
            self._release_param(p)
        self.inflight.clear()

    def trace_prologue(self, module):
        if self.trace_mode != _COMPLETE:
            return
        if len(self.submodule_order) <= self.step_id or module is not self.submodule_order[self.step_id]:
            self.trace_mode = _INVALID
            self.submodule_order = []
            self.param_order = []
            self.last_fetched = {}
            self.fetched_at = {}
            self.queue = []
            self._clean_inflight()

    def record_module(self, module):
        if self.trace_mode == _RECORD:
            self.submodule_order.append(module)
            self.fetched_at.setdefault(module, []).append(self.step_id)

    def reset_step(self):
        self._clean_inflight()
        if self.trace_mode != _COMPLETE:
            self._agree_on_ints(len(self.submodule_order))
            if self.trace_mode == _RECORD:
                self.param_order = []
                for module in self.submodule_order:
                    step_id = self.fetched_at[module].pop(0)
                    for p in sorted(self.params_of(module).keys(), key=lambda p: p.number):
                        self.param_order.append((p, step_id))
                self._agree_on_ints(len(self.param_order))
                self._agree_on_ints(len(self.param_order))
                self.trace_mode = _COMPLETE
            else:
                self.trace_mode = _RECORD
        self.queue = list(self.param_order)
        self.last_fetched = {}
        self.fetched_at = {}
        self.step_id = 0
        self.available = 0

    def _agree_on_ints(self, count):
        is_root = self.gatherer.rank == 0
        _agree(1, self.gatherer.world, is_root)
        _agree(count, self.gatherer.world, is_root)

    # ---- fetch ----

    @torch.no_grad()
    def fetch(self, module, forward):
        if not forward:
            self.active_backward[module] = True
        params = self.params_of(module)
        self._all_gather(params)
        in_checkpoint_recompute = forward and torch._is_in_backward()
        for p in params:
            p.active[module] = True
            if in_checkpoint_recompute and len(self.active_backward) > 0 and not p.param.requires_grad:
                owner = list(self.active_backward.keys())[-1]
                self.recomputed.setdefault(owner, {})[p] = True
                p.active[owner] = True
            if p in self.inflight:
                before = torch._stream(self.gatherer.stream)
                self.inflight.pop(p).wait()
                torch._stream(before)
        if self.trace_mode == _COMPLETE:
            self._take_from_queue(params)
            if self.prefetch_bucket_size > 0:
                self._prefetch()
        self.step_id += 1

    def _take_from_queue(self, params):
        expected = [p for p in params if self.last_fetched.get(p, -1) < self.step_id]
        taken = {}
        while len(self.queue) > 0 and len(taken) < len(expected):
            p, step_id = self.queue.pop(0)
            self.last_fetched[p] = step_id
            taken[p] = True
        for p in expected:
            if p not in taken:
                raise RuntimeError(f"tracing error at step {self.step_id}: {p.name} is not among the next parameters "
                                   "of the trace that DeepSpeed has recorded")

    def _prefetch(self):
        most = min(self.max_available - self.available, self.prefetch_bucket_size)
        params = {}
        numel = 0
        while len(self.queue) > 0 and numel < most:
            p, step_id = self.queue.pop(0)
            self.last_fetched[p] = max(self.last_fetched.get(p, -1), step_id)
            if p.status == _NOT_AVAILABLE and p not in params:
                params[p] = True
                numel += p.numel
        if numel > 0:
            self._all_gather(params)

    def _all_gather(self, params):
        partitioned = [p for p in params if p.status == _NOT_AVAILABLE]
        if len(partitioned) == 0:
            return
        self.available += sum([p.numel for p in partitioned])
        before = torch._stream(self.gatherer.stream)
        handle = self.gatherer.all_gather_coalesced(partitioned)
        torch._stream(before)
        for p in partitioned:
            self.inflight[p] = handle

    # ---- release ----

    @torch.no_grad()
    def release(self, module, forward):
        params = self.params_of(module)
        to_release = self._params_to_release(module) if self.trace_mode == _COMPLETE else dict(params)
        if not forward:
            recomputed = self.recomputed.pop(module, {})
            for p in recomputed:
                params[p] = True
                if not p.persists:
                    to_release[p] = True
            self.active_backward.pop(module, None)
        for p in params:
            p.active.pop(module, None)
            if p in to_release:
                self._release_param(p)

    def _params_to_release(self, module):
        decided = self.to_release.setdefault(module, {})
        if self.step_id in decided:
            return decided[self.step_id]
        found = {}
        for p in self.params_of(module):
            if not p.persists and self.last_fetched.get(p, -1) <= self.step_id:
                found[p] = True
        traversed = 0
        for later in self.submodule_order[self.step_id:]:
            if traversed >= self.max_reuse_distance:
                break
            for p in self.params_of(later):
                found.pop(p, None)
                traversed += p.numel
        decided[self.step_id] = found
        return found

    def _release_param(self, p):
        if p.status == _AVAILABLE and len(p.active) == 0:
            p.free()
            self.available -= p.numel

    @torch.no_grad()
    def release_all(self):
        for p in self.params.values():
            if p in self.inflight:
                self.inflight.pop(p).wait()
            p.active.clear()
            self._release_param(p)

    @torch.no_grad()
    def release_backward_leftovers(self):
        # modules without a gradient of their input
        while len(self.active_backward) > 0:
            module = list(self.active_backward.keys())[-1]
            self.active_backward.pop(module)
            params = self.params_of(module)
            params.update(self.recomputed.pop(module, {}))
            for p in params:
                p.active.pop(module, None)
                if not p.persists:
                    self._release_param(p)


# ---- hooks of modules ----


class _PreBackward(torch.autograd.Function):
    # around the results of a module: PreBackwardFunctionForModule
    @staticmethod
    def forward(ctx, hooks, output):
        ctx.hooks = hooks
        hooks.applied += 1
        return output.detach()

    @staticmethod
    def backward(ctx, grad):
        ctx.hooks.before_backward()
        return None, grad


class _PostBackward(torch.autograd.Function):
    # around the inputs of a module: PostBackwardFunctionModule
    @staticmethod
    def forward(ctx, hooks, input):
        ctx.hooks = hooks
        if input.requires_grad:
            hooks.remaining += 1
        return input.detach()

    @staticmethod
    def backward(ctx, grad):
        ctx.hooks.remaining -= 1
        if ctx.hooks.remaining == 0:
            ctx.hooks.after_backward()
        return None, grad


def _apply(function, hooks, value):
    if isinstance(value, torch.Tensor):
        return function.apply(hooks, value)
    if isinstance(value, tuple):
        return tuple([_apply(function, hooks, v) for v in value])
    if isinstance(value, list):
        return [_apply(function, hooks, v) for v in value]
    if isinstance(value, dict):
        return {k: _apply(function, hooks, v) for k, v in value.items()}
    return value


class _Hooks:
    def __init__(self, module, coordinator):
        self.module = module
        self.coordinator = coordinator
        self.applied = 0  # results of forwards whose backward has not begun
        self.remaining = 0  # inputs whose gradients are not there yet

    def before_forward(self):
        self.coordinator.module_stack.append(self.module)
        self.coordinator.trace_prologue(self.module)
        self.coordinator.record_module(self.module)
        self.coordinator.fetch(self.module, True)
        self.remaining = 0

    def before_backward(self):
        if self.applied > 0:
            self.coordinator.trace_prologue(self.module)
            self.coordinator.record_module(self.module)
            self.coordinator.fetch(self.module, False)
            self.applied -= 1

    def after_backward(self):
        self.coordinator.release(self.module, False)


def _with_hooks(plain, hooks, is_root):
    def forward(*args, **kwargs):
        if is_root:
            hooks.coordinator.reset_step()
        hooks.before_forward()
        args = _apply(_PostBackward, hooks, args)
        output = plain(*args, **kwargs)
        hooks.coordinator.module_stack.pop()
        hooks.coordinator.release(hooks.module, True)
        return _apply(_PreBackward, hooks, output)

    return forward


# ---- linear ----


class _Linear(torch.autograd.Function):
    # LinearFunctionForZeroStage3: saves the weight itself, not the view of it that addmm uses
    @staticmethod
    def forward(ctx, input, weight, bias):
        ctx.save_for_backward(input, weight, bias)
        if input.dim() == 2 and bias is not None:
            ret = torch.addmm(bias, input, weight.t())
        else:
            output = torch._apart(input.matmul(weight.t()))  # the matrix product has a version of its own
            if bias is not None:
                output += bias
            ret = output
        return ret

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = None
        grad_weight = None
        grad_bias = None
        dim = grad_output.dim()
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.matmul(weight)
        if ctx.needs_input_grad[1]:
            if dim > 2:
                grad_weight = grad_output.reshape(-1, grad_output.shape[-1]).t().matmul(
                    input.reshape(-1, input.shape[-1]))
            elif dim == 1:
                grad_weight = grad_output.unsqueeze(-1) * input.unsqueeze(0)
            else:
                grad_weight = grad_output.t().matmul(input)
        if bias is not None and ctx.needs_input_grad[2]:
            if dim > 2:
                grad_bias = grad_output.sum([i for i in range(dim - 1)])
            elif dim == 1:
                grad_bias = grad_output
            else:
                grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


def _linear(input, weight, bias=None):
    return _Linear.apply(input, weight, bias)


# ---- zero.Init and DeepSpeedZeRoOffload ----


@torch.no_grad()
def partition(model, settings):
    # the parameters by tensor, in the order of their numbers; `model` is on the device
    F.linear = _linear
    params = {}
    for name, param in model.named_parameters():
        distributed.note_broadcast(param.numel() * param.element_size(), settings["world"], settings["rank"] == "0")
        params[param] = Param(param, name, len(params), settings["world"], int(settings["rank"]))
    return params


def coordinate(model, params, settings):
    gatherer = Gatherer(settings)
    coordinator = Coordinator(params, gatherer, settings)
    threshold = int(settings["stage3-param-persistence-threshold"])
    for p in params.values():
        p.persists = p.numel <= threshold
    for module in list(model.modules()):
        module._before_empty_read = coordinator.before_empty_read
        module.forward = _with_hooks(module.forward, _Hooks(module, coordinator), module is model)
    return coordinator
