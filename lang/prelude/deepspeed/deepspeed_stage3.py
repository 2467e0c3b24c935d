# lang/prelude/deepspeed/deepspeed_stage3.py - DeepSpeed's ZeRO stage 3 in one of `world` processes, this one being
# `rank`: its gradients and its optimizer.
#
# For:       train.py; docs/internals/deepspeed.md has the sequence and how it was measured.
# Invariant: names, lists and their order are those of DeepSpeed 0.19's runtime/zero/stage3.py and
#            runtime/comm/coalesced_collectives.py, because the memory events depend on them. No data is sent: the other
#            processes are assumed to have the same values.
import torch
import _deepspeed as deepspeed
import _deepspeed_params as partitioned
import _distributed as distributed

_REDUCTION = 36


class _Barrier:
    # PyTorch's process group reduces a number that it keeps
    def __init__(self, world):
        self.world = world
        self.number = None

    def wait(self):
        token = torch.empty(1, dtype=torch.uint8, device="cuda")
        torch._set_category(token, "temporary")
        if self.number is None and torch._has_target():
            self.number = torch.empty(1, dtype=torch.float32, device="cuda")
            torch._set_category(self.number, "workspace")
        distributed.note_all_reduce(4, self.world)


class _Bucket:
    # IPGBucketZ3
    def __init__(self):
        self.buffer = None
        self.params = []
        self.elements = 0


def initialize(model, optimizer, settings):
    # deepspeed.initialize(), with any stage: the engine, and the optimizer that it wraps
    engine = deepspeed.Engine(model, settings)
    if settings["shard"] == "deepspeed-zero3":
        engine.optimizer = Optimizer(model, optimizer, settings)
    else:
        engine.optimizer = deepspeed.Optimizer(optimizer, settings)
    return engine, engine.optimizer


class Optimizer:
    # DeepSpeedZeroOptimizer_Stage3. One group of parameters; `optimizer` steps this process's partitions in float32,
    # one sub-group after the other.
    @torch.no_grad()
    def __init__(self, model, optimizer, settings):
        self.optimizer = optimizer
        self.settings = settings
        self.world = settings["world"]
        self.rank = int(settings["rank"])
        self.overlap_comm = settings["overlap-comm"] == "on"
        self.reduce_bucket_size = settings["reduce-bucket-size"]
        self.dtype = optimizer.param_groups[0]["params"][0].dtype
        deepspeed.check_dtypes(list(model.parameters()), settings)
        self.loss_scale = 65536.0 if self.dtype == torch.float16 else 1.0  # no overflow is assumed, which lowers it
        self.is_boundary = True
        self._global_grad_norm = 0.0
        self._engine_grad_norm = None
        self.micro_step_id = 0
        self.is_epilogue_run = False
        self.params = partitioned.partition(model, settings)
        self.coordinator = partitioned.coordinate(model, self.params, settings)
        self.persistent = [p for p in self.params.values() if p.persists]
        self.inf_or_nan_tracker = torch.zeros(1, dtype=torch.bool, device="cuda")
        self.barrier = _Barrier(self.world)
        self._create_fp16_partitions([self.params[p] for p in optimizer.param_groups[0]["params"]])
        self.bucket = _Bucket()
        self._create_fp32_partitions()
        self.barrier.wait()
        self._initialize_optimizer_states()
        self.barrier.wait()
        self._create_gradient_buffers()
        self._create_hooks()

    # ---- set-up ----

    def _create_fp16_partitions(self, params):
        self.barrier.wait()
        self.groups = self._sub_groups(params)
        self.numels = [sum([p.partition_numel for p in group]) for group in self.groups]
        # through the host into one buffer
        for p in params:
            p.on_host = p.partition.to("cpu")
            p.partition = None
        torch.cuda.empty_cache()
        self.flat = torch.cat([p.on_host for p in params]).to("cuda")
        torch._set_category(self.flat, "parameter")
        torch._set_name(self.flat, "partitions of the parameters")
        offset = 0
        for p in params:
            p.on_host = None
            p.partition = self.flat.narrow(0, offset, p.partition_numel)
            offset += p.partition_numel
        self.flat_groups = list(self.flat.split(self.numels))

    def _sub_groups(self, params):
        size = int(self.settings["sub-group-size"])
        if size >= sum([p.partition_numel for p in params]):
            return [params]
        groups = []
        group = []
        numel = 0
        for p in params:
            group.append(p)
            numel += p.partition_numel
            if numel >= size or p is params[-1]:
                groups.append(group)
                group = []
                numel = 0
        return groups

    def _create_fp32_partitions(self):
        self.masters = []
        for flat in self.flat_groups:
            converted = flat.to(torch.float32)  # no copy where it is
            torch._set_category(converted, "parameter" if self.dtype == torch.float32 else "optimizer")
            master = converted.clone().detach()
            torch._set_category(master, "optimizer")
            torch._set_name(master, "float32 partitions of the parameters")
            master.requires_grad = True
            self.masters.append(master)
        self.optimizer.param_groups[0]["params"] = []

    def _initialize_optimizer_states(self):
        gradient_buffer = torch.zeros(max(self.numels), dtype=torch.float32, device="cuda")
        torch._set_category(gradient_buffer, "gradient")

    def _create_gradient_buffers(self):
        self.bucket.buffer = torch.empty(self.reduce_bucket_size, dtype=self.dtype, device="cuda")
        torch._set_category(self.bucket.buffer, "gradient")
        torch._set_name(self.bucket.buffer, "bucket of gradients")
        self.grad_partitions = torch.zeros(sum(self.numels), dtype=self.dtype, device="cuda")
        torch._set_category(self.grad_partitions, "gradient")
        torch._set_name(self.grad_partitions, "gradients of the partitions")
        offset = 0
        for group in self.groups:
            for p in group:
                p.grad_partition = self.grad_partitions.narrow(0, offset, p.partition_numel)
                offset += p.partition_numel

    def _create_hooks(self):
        for group in self.groups:
            for p in group:
                self.coordinator.gatherer.all_gather([p])
                p.param.register_post_accumulate_grad_hook(self._hook_of(p))
                p.free()

    def _hook_of(self, p):
        def hook(param):
            self.reduce_independent_p_g_buckets_and_remove_grads(p)

        return hook

    # ---- in backward ----

    def begin_forward(self):
        if self.is_epilogue_run:
            self.micro_step_id += 1
        self.is_epilogue_run = False

    @torch.no_grad()
    def reduce_independent_p_g_buckets_and_remove_grads(self, p):
        bucket = self.bucket
        if bucket.elements + p.numel > self.reduce_bucket_size and bucket.elements > 0:
            self.reduce_and_partition_ipg_grads()
        if bucket.elements + p.numel <= self.reduce_bucket_size:
            before = torch._stream(_REDUCTION if self.overlap_comm else -1)
            new_grad_tensor = bucket.buffer.narrow(0, bucket.elements, p.numel).view_as(p.param.grad)
            new_grad_tensor.copy_(p.param.grad)
            if self.overlap_comm:
                torch._record_stream(p.param.grad, _REDUCTION)
            p.param.grad.data = new_grad_tensor
            torch._stream(before)
        bucket.params.append(p)
        bucket.elements += p.numel

    def reduce_and_partition_ipg_grads(self):
        bucket = self.bucket
        if len(bucket.params) == 0:
            return
        before = torch._stream(_REDUCTION if self.overlap_comm else -1)
        params = sorted(bucket.params, key=lambda p: p.number)
        grad_partitions = self.reduce_scatter_coalesced(params)
        self.partition_grads(params, grad_partitions)
        bucket.params.clear()
        bucket.elements = 0
        torch._stream(before)

    def reduce_scatter_coalesced(self, params):
        # what each process gets of each gradient, padded to equal sizes, process by process; views of this one's part
        tensors = [p.param.grad for p in params]
        flat = self._flat_buffer(params, tensors)
        tensors.clear()
        distributed.note_reduce_scatter(flat.numel() * flat.element_size(), self.world)
        numel = flat.numel() // self.world
        own = flat.narrow(0, numel * self.rank, numel)
        outputs = []
        offset = 0
        for p in params:
            outputs.append(own.narrow(0, offset, max(0, min(p.partition_numel, p.numel - p.start))))
            offset += p.partition_numel
        return outputs

    def _flat_buffer(self, params, tensors):
        if len(tensors) == 1 and params[0].numel % self.world == 0:
            return tensors[0].view(-1)
        padding = self._padding(params)
        flat = torch.empty(sum([p.partition_numel for p in params]) * self.world, dtype=self.dtype, device="cuda")
        torch._set_category(flat, "gradient")
        torch._set_name(flat, "gradients, to be scattered")
        numel = flat.numel() // self.world
        offset = numel * self.rank
        for p, tensor in zip(params, tensors):
            mine = min(p.partition_numel, p.numel - p.start)
            if mine > 0:
                flat.narrow(0, offset, mine).copy_(tensor.view(-1).narrow(0, p.start, mine))
            offset += p.partition_numel
        while len(padding) > 0:
            padding.pop()
        return flat

    def _padding(self, params):
        # one tensor for each part that is shorter than the partition, process by process
        padding = []
        for rank in range(min([p.numel // p.partition_numel for p in params]), self.world):
            for p in params:
                size = p.partition_numel - max(0, min(p.partition_numel, p.numel - rank * p.partition_numel))
                if size > 0:
                    t = torch.empty(size, dtype=self.dtype, device="cuda")
                    torch._set_category(t, "gradient")
                    padding.append(t)
        return padding

    def partition_grads(self, params, grad_partitions):
        for p, grad_partition in zip(params, grad_partitions):
            if p.start < p.numel:
                grad_buffer = p.grad_partition.narrow(0, 0, grad_partition.numel())
                if self.micro_step_id == 0:
                    grad_buffer.copy_(grad_partition)
                else:
                    grad_buffer.add_(grad_partition)
                if self.overlap_comm:
                    torch._record_stream(p.param.grad, _REDUCTION)
            p.param.grad = None

    @torch.no_grad()
    def epilogue(self):
        self.reduce_and_partition_ipg_grads()
        self.averaged_gradients = [[p.grad_partition for p in group] for group in self.groups]
        self.is_epilogue_run = True
        self.coordinator.release_backward_leftovers()

    # ---- the step ----

    def has_overflow(self):
        before = torch._stream(_REDUCTION if self.overlap_comm else -1)
        self.inf_or_nan_tracker.copy_(torch.isinf(self.grad_partitions).any())  # logical_or_ allocates nothing, either
        self.inf_or_nan_tracker.copy_(torch.isnan(self.grad_partitions).any())
        overflow_gpu = self.inf_or_nan_tracker.clone().to(torch.uint8)
        self.inf_or_nan_tracker.zero_()
        torch._stream(before)
        distributed.note_all_reduce(1, self.world)

    def get_grad_norm_direct(self, gradients):
        grad_norms = []
        for g in gradients:
            grad_norms.append(torch.linalg.vector_norm(g.to(torch.float64)))
        total_norm_cuda = torch.sum(torch.pow(torch.stack(grad_norms), 2.0))
        distributed.note_all_reduce(8, self.world)
        total_norm = total_norm_cuda.pow(0.5)
        norm_is_inf = total_norm.isinf()
        norm_is_nan = total_norm.isnan()
        inf_or_nan = norm_is_nan.logical_or(norm_is_inf)
        err = torch.tensor(-1.0, device="cuda", dtype=torch.float)
        total_norm = torch.where(inf_or_nan, err, total_norm)
        del total_norm_cuda
        while len(grad_norms) > 0:
            grad_norms.pop()
        del norm_is_inf, norm_is_nan, inf_or_nan, err
        return total_norm

    def unscale_and_clip_grads(self, grad, total_norm):
        combined_scale = self.loss_scale
        clip = ((total_norm / self.loss_scale) + 1e-6) / deepspeed.CLIP
        clip = torch.clamp(clip, min=1.0)
        combined_scale = clip * self.loss_scale
        grad.mul_(1.0 / combined_scale)

    def step(self):
        self._step()
        self._engine_grad_norm = self._global_grad_norm  # DeepSpeed's engine refers to it, too

    @torch.no_grad()
    def _step(self):
        self.micro_step_id = 0
        self.is_epilogue_run = False
        self.coordinator.release_all()
        if self.dtype == torch.float16:
            self.has_overflow()
        norm_groups = []
        for gradients in self.averaged_gradients:
            norm_groups.append(self.get_grad_norm_direct(gradients))
        scaled_global_grad_norm = deepspeed.combined(norm_groups)
        deepspeed.is_invalid(scaled_global_grad_norm)
        self._global_grad_norm = scaled_global_grad_norm / self.loss_scale
        for i, group in enumerate(self.groups):
            self._step_of(i, scaled_global_grad_norm)
        self.coordinator.gatherer.all_gather(self.persistent)
        del scaled_global_grad_norm

    def _step_of(self, i, norm):
        master = self.masters[i]
        single_grad_partition = deepspeed.flatten(self.averaged_gradients[i])
        torch._set_category(single_grad_partition, "gradient")
        single_grad_partition = single_grad_partition.to(torch.float32)
        torch._set_category(single_grad_partition, "gradient")
        master.grad = single_grad_partition
        self.averaged_gradients[i] = None
        self.unscale_and_clip_grads(single_grad_partition, norm)
        self.optimizer.param_groups[0]["params"] = [master]
        self.optimizer.step()
        self.optimizer.param_groups[0]["params"] = []
        self.flat_groups[i].copy_(master)
        master.grad = None

    def zero_grad(self, set_to_none=True):
        # step() of DeepSpeed's engine has done it
        return None
