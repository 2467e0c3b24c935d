# lang/prelude/deepspeed/deepspeed.py - DeepSpeed's engine, and its ZeRO stages 1 and 2, in one of `world` processes,
# this one being `rank`.
#
# For:       train.py, deepspeed_stage3.py; docs/internals/deepspeed.md has the sequence and how it was measured.
# Invariant: names, lists and their order are those of DeepSpeed 0.19's runtime/zero/stage_1_and_2.py, because the
#            memory events depend on them. No data is sent: the other processes are assumed to have the same values, so
#            a sum over them divided by their number changes nothing.
import torch
import torch.nn as nn
import _distributed as distributed

_STAGES = {"deepspeed-zero1": 1, "deepspeed-zero2": 2, "deepspeed-zero3": 3}
_REDUCTION = 36  # the stream of overlap-comm=on; fsdp.py has 33 to 35
_ALIGNMENT = 2  # elements, for each process: nccl_start_alignment_factor
CLIP = 1.0  # the default of gradient_clipping


def is_chosen(settings):
    return settings["shard"] in _STAGES


def check(net, settings):
    # refuse what is not known to be equal to DeepSpeed's, before anything is on the device
    shard = settings["shard"]
    if int(settings["rank"]) >= settings["world"]:
        raise ValueError(f"rank={settings['rank']}: the ranks of world={settings['world']} are 0 to "
                         f"{settings['world'] - 1}")
    if settings["grad"] != "train":
        raise ValueError(f"shard={shard}: DeepSpeed's ZeRO of these stages is an optimizer, and with "
                         f"grad={settings['grad']} nothing is trained; leave out shard")
    if hasattr(net, "train_step"):
        raise ValueError(f"shard={shard}: a net with its own train_step is not supported; leave out train_step, or "
                         "use shard=ddp")
    if hasattr(net, "optimizer"):
        raise ValueError(f"shard={shard}: a net with its own optimizer() is not supported; leave out optimizer, or use "
                         "shard=ddp")
    if settings["amp"] != "off":
        raise ValueError(f"amp={settings['amp']}: DeepSpeed's engine turns autocast off; use mp-policy=bf16 or fp16")
    if settings["mp-policy"] == "bf16-reduce":
        raise ValueError("mp-policy=bf16-reduce: it is fully_shard's; DeepSpeed has bf16, which reduces in bfloat16, "
                         "too")
    if settings["half"] == "on":
        raise ValueError("half=on: DeepSpeed casts the parameters itself; use mp-policy=fp16")
    if settings["checkpoint"] == "auto" or settings["checkpoint"].startswith("auto:"):
        raise ValueError(f"checkpoint={settings['checkpoint']}: placements are not planned for shard={shard} yet; use "
                         "checkpoint=blocks")
    if settings["torch"] != "2.15":
        raise ValueError(f"torch={settings['torch']}: shard={shard} is known with PyTorch 2.15 alone")
    if torch._rank_count() > 0:
        raise ValueError(f"shard={shard}: several processes cannot train with it; use shard=fsdp or shard=ddp")
    if torch._has_data() and settings["world"] > 1:
        torch._warn(f"shard={shard}: the processes that update the other partitions of the parameters are not there, "
                    "and these stay as they are; so the losses are not those of a training")


# ---- flat tensors ----


def flatten(tensors):
    if len(tensors) == 1:
        return tensors[0].contiguous().view(-1)
    return torch.cat([t.contiguous().view(-1) for t in tensors])


def _flatten_aligned(tensor_list, alignment):
    remaining = sum([t.numel() for t in tensor_list]) % alignment
    if remaining > 0:
        pad_tensor = torch.zeros(alignment - remaining, dtype=tensor_list[0].dtype, device="cuda")
        torch._set_category(pad_tensor, "temporary")
        return flatten(tensor_list + [pad_tensor])
    return flatten(tensor_list)


# ---- what is looked at on the device ----


def is_invalid(norm):
    (~torch.isfinite(norm) | (norm < 0)).any()


def _has_inf_or_nan(x):
    return torch.isfinite(x.amax()).logical_and(torch.isfinite(x.amin())).logical_not()


def _mask_nan_or_inf(input):
    norm_is_inf = input.isinf()
    norm_is_nan = input.isnan()
    inf_or_nan = norm_is_nan.logical_or(norm_is_inf)
    err = torch.tensor(-1.0, device="cuda", dtype=torch.float)


def combined(norm_groups):
    stacked = torch.stack(norm_groups)
    invalid = (~torch.isfinite(stacked) | (stacked < 0)).any()
    combined = torch.linalg.vector_norm(stacked)
    return torch.where(invalid, torch.full_like(combined, float("inf")), combined)


def check_dtypes(params, settings):
    # the model's dtype is one, as DeepSpeed's config says
    for p in params:
        if p.dtype != params[0].dtype:
            raise ValueError(f"shard={settings['shard']}: parameters of several dtypes are not supported: "
                             f"{params[0].dtype} and {p.dtype}")


# ---- DeepSpeedZeroOptimizer ----


class _Bucket:
    def __init__(self):
        self.buffer = []
        self.params = []
        self.grads = []
        self.elements = 0
        self.index = 0

    def clear(self):
        self.params.clear()
        self.grads.clear()
        self.elements = 0


class Optimizer:
    # One group of parameters; `optimizer` steps this process's partition of them in float32.
    @torch.no_grad()
    def __init__(self, optimizer, settings):
        self.optimizer = optimizer
        self.world = settings["world"]
        self.rank = int(settings["rank"])
        self.partitions_gradients = _STAGES[settings["shard"]] == 2
        self.overlap_comm = settings["overlap-comm"] == "on"
        self.reduce_bucket_size = settings["reduce-bucket-size"]
        self.accumulate = settings["accumulate"]
        self.group = optimizer.param_groups[0]["params"]
        self.dtype = self.group[0].dtype
        check_dtypes(self.group, settings)
        self.loss_scale = 65536.0 if self.dtype == torch.float16 else 1.0  # no overflow is assumed, which lowers it
        self._global_grad_norm = 0.0
        self._engine_grad_norm = None
        torch.cuda.empty_cache()
        self.flat = _flatten_aligned(self.group, _ALIGNMENT * self.world).detach()
        self._update_model_weights()
        self.partition_size = self.flat.numel() // self.world
        self.partition = self.flat.narrow(0, self.rank * self.partition_size, self.partition_size)
        weights_partition = self.partition.detach().clone().to(torch.float32)
        torch._set_category(weights_partition, "optimizer")
        torch._set_name(weights_partition, "float32 partition of the parameters")
        self.master = weights_partition
        self.master.requires_grad = True
        optimizer.param_groups[0]["params"] = [self.master]
        self._find_partitions()
        self.bucket = _Bucket()
        self.extra_large = None
        self.is_reduced = {}
        self.is_boundary = True
        self.all_grad_tensors = None
        self.averaged_gradients = None
        self._release_ipg_buffers()
        for i, param in enumerate(self.group):
            param.register_post_accumulate_grad_hook(self._hook_of(i))
        self._initialize_optimizer_states()

    def _update_model_weights(self):
        offset = 0
        for p in self.group:
            numel = p.numel()
            p.data = self.flat.narrow(0, offset, numel).view(p.shape)
            offset += numel
        torch._set_category(self.flat, "parameter")
        torch._set_name(self.flat, "flat parameters")

    def _find_partitions(self):
        # which partitions each parameter is in, from which of its elements on; and which parameters are in this one
        size = self.partition_size
        start = size * self.rank
        self.first_offset = 0
        self.in_partition = []
        self.offsets = []
        current = 0
        for i, p in enumerate(self.group):
            numel = p.numel()
            first = current // size
            pieces = [(first, 0)]
            k = first + 1
            while k < self.world and k * size < current + numel:
                pieces.append((k, k * size - current))
                k += 1
            self.offsets.append(pieces)
            if start <= current < start + size:
                self.in_partition.append(i)
            elif current < start < current + numel:
                self.in_partition.append(i)
                self.first_offset = start - current
            current += numel
        self.is_in_partition = [i in self.in_partition for i in range(len(self.group))]

    def _initialize_optimizer_states(self):
        single_grad_partition = torch.zeros(self.partition_size, dtype=torch.float32, device="cuda")
        torch._set_category(single_grad_partition, "gradient")

    def _release_ipg_buffers(self):
        self.bucket.buffer.clear()
        self.grads_in_partition = None
        self.grads_in_partition_offset = 0
        self.ready_for_gradients = False

    # ---- in backward ----

    def begin_forward(self):
        pass

    def _hook_of(self, i):
        def hook(param):
            self.process_gradients(i)

        return hook

    def _new_buffer(self):
        buffer = torch.empty(self.reduce_bucket_size, dtype=self.dtype, device="cuda")
        torch._set_category(buffer, "gradient")
        torch._set_name(buffer, "bucket of gradients")
        self.bucket.buffer.append(buffer)

    def setup_buckets(self):
        if self.ready_for_gradients:
            return
        self.bucket.buffer.clear()
        self._new_buffer()
        self.bucket.index = 0
        if self.overlap_comm:
            self._new_buffer()
        self.ready_for_gradients = True

    @torch.no_grad()
    def process_gradients(self, i):
        self.setup_buckets()
        if self.partitions_gradients or self.overlap_comm and self.is_boundary:
            self.reduce_independent_p_g_buckets_and_remove_grads(i)

    def reduce_independent_p_g_buckets_and_remove_grads(self, i):
        param = self.group[i]
        numel = param.numel()
        if numel == 0:
            return
        grad_reduc = param.grad
        bucket = self.bucket
        if bucket.elements + numel > self.reduce_bucket_size:
            self.reduce_ipg_grads()
            if self.overlap_comm:
                bucket.index = 1 - bucket.index
        if i in self.is_reduced:
            raise RuntimeError(f"The parameter {i} has already been reduced. Gradient computed twice for this "
                               "partition. Multiple gradient reductions are currently not supported")
        if numel > self.reduce_bucket_size:
            self.extra_large = i
        else:
            new_grad_tensor = bucket.buffer[bucket.index].narrow(0, bucket.elements, numel)
            new_grad_tensor.copy_(grad_reduc.view(-1))
            grad_reduc.data = new_grad_tensor.view_as(grad_reduc)
        bucket.elements += numel
        bucket.grads.append(grad_reduc)
        bucket.params.append(i)

    def reduce_ipg_grads(self):
        bucket = self.bucket
        if self.extra_large is not None:
            extra_large_grad_reduc = self.group[self.extra_large].grad
            extra_large_grad_reduc_for_average = extra_large_grad_reduc.view(-1)
            extra_large_grad_reduc.data = extra_large_grad_reduc_for_average.view_as(extra_large_grad_reduc)
            self.average_tensor(extra_large_grad_reduc_for_average)
            self.extra_large = None
        else:
            self.average_tensor(bucket.buffer[bucket.index].narrow(0, 0, bucket.elements))
        before = torch._stream(_REDUCTION if self.overlap_comm else -1)
        for i in bucket.params:
            self.is_reduced[i] = True
            if self.is_in_partition[i]:
                self.copy_grads_in_partition(i)
            elif self.partitions_gradients:
                self.group[i].grad = None
        bucket.clear()
        torch._stream(before)

    def average_tensor(self, tensor):
        # slices of the bucket by the process that they are for; neighbours of one process are one slice
        rank_and_offsets = []
        size = 0
        for i in self.bucket.params:
            pieces = self.offsets[i]
            for k, (rank, offset) in enumerate(pieces):
                end = pieces[k + 1][1] if k + 1 < len(pieces) else self.group[i].numel()
                numel = end - offset
                if len(rank_and_offsets) > 0 and rank_and_offsets[-1][0] == rank:
                    rank, at, before = rank_and_offsets.pop()
                    rank_and_offsets.append((rank, at, before + numel))
                else:
                    rank_and_offsets.append((rank, size, numel))
                size += numel
        stream = torch._stream(_REDUCTION if self.overlap_comm else -1)
        ranks = []
        small_bucket = []
        numel = 0
        for rank, at, count in rank_and_offsets:
            small_bucket.append(tensor.narrow(0, at, count))
            ranks.append(rank)
            numel += count
            if numel > self.reduce_bucket_size:
                self.allreduce_and_copy(small_bucket, ranks)
                small_bucket = []
                ranks = []
                numel = 0
        if len(small_bucket) > 0:
            self.allreduce_and_copy(small_bucket, ranks)
        torch._stream(stream)

    def allreduce_and_copy(self, small_bucket, ranks):
        allreduced = flatten(small_bucket)
        torch._set_category(allreduced, "gradient")
        distributed.note_all_reduce(allreduced.numel() * allreduced.element_size(), self.world)
        if self.overlap_comm:
            torch._record_stream(allreduced, _REDUCTION)
        offset = 0
        for buf, rank in zip(small_bucket, ranks):
            if rank == self.rank:
                buf.copy_(allreduced.narrow(0, offset, buf.numel()))
                if self.overlap_comm:
                    torch._record_stream(buf, _REDUCTION)
            offset += buf.numel()

    def copy_grads_in_partition(self, i):
        if self.grads_in_partition is None:
            self.grads_in_partition_offset = 0
            total_size = sum([self.group[k].numel() for k in self.in_partition])
            self.grads_in_partition = torch.empty(total_size, dtype=self.dtype, device="cuda")
            torch._set_category(self.grads_in_partition, "gradient")
            torch._set_name(self.grads_in_partition, "gradients of the partition")
        grad_reduc = self.group[i].grad
        numel = grad_reduc.numel()
        new_grad_tensor = self.grads_in_partition.narrow(0, self.grads_in_partition_offset, numel)
        new_grad_tensor.copy_(grad_reduc.view(-1))
        grad_reduc.data = new_grad_tensor.view_as(grad_reduc)
        self.grads_in_partition_offset += numel

    # ---- at the end of backward ----

    @torch.no_grad()
    def epilogue(self):
        if self.partitions_gradients:
            self.independent_gradient_partition_epilogue()
        elif self.is_boundary:
            self.reduce_gradients()

    def reduce_gradients(self):
        if not self.overlap_comm:
            for i, param in enumerate(self.group):
                if param.grad is not None:
                    self.reduce_independent_p_g_buckets_and_remove_grads(i)
        self.independent_gradient_partition_epilogue()

    def independent_gradient_partition_epilogue(self):
        self.reduce_ipg_grads()
        self.is_reduced.clear()
        if self.all_grad_tensors is None:
            self.all_grad_tensors = self.get_all_grad_tensors()
        else:
            avg_new = self.get_all_grad_tensors()
            for accumulated_grad, new_avg_grad in zip(self.all_grad_tensors, avg_new):
                accumulated_grad.add_(new_avg_grad)
        if self.is_boundary:
            self.averaged_gradients = self.get_flat_partition()
            self.all_grad_tensors = None
        self._release_ipg_buffers()
        for p in self.group:
            p.grad = None

    def get_all_grad_tensors(self):
        all_grad_tensors = []
        for i in self.in_partition:
            grad_accum = self.group[i].grad
            if grad_accum is None:
                grad_accum = torch.zeros_like(self.group[i])
                torch._set_category(grad_accum, "gradient")
            all_grad_tensors.append(grad_accum)
        return all_grad_tensors

    def get_flat_partition(self):
        flat_tensor_list = []
        current_size = 0
        for i, tensor in enumerate(self.all_grad_tensors):
            num_elements = tensor.numel()
            tensor_offset = 0
            if i == 0 and self.first_offset > 0:
                tensor_offset = self.first_offset
                num_elements -= tensor_offset
            if num_elements > self.partition_size - current_size:
                num_elements = self.partition_size - current_size
            if tensor_offset > 0 or num_elements < tensor.numel():
                flat_tensor_list.append(tensor.contiguous().view(-1).narrow(0, tensor_offset, num_elements))
            else:
                flat_tensor_list.append(tensor)
            current_size += num_elements
        if current_size < self.partition_size:
            pad = torch.zeros(self.partition_size - current_size, dtype=self.dtype, device="cuda")
            torch._set_category(pad, "gradient")
            flat_tensor_list.append(pad)
        return flat_tensor_list

    # ---- the step ----

    def get_grad_norm(self, gradients):
        all_norms = []
        for g, i in zip(gradients, self.in_partition):
            all_norms.append(torch.linalg.vector_norm(g.to(torch.float64).detach()))
        if len(all_norms) > 0:
            total_norm = torch.stack(all_norms).pow(2.0).sum().float()
        else:
            total_norm = torch.tensor(0.0, dtype=torch.float32).to("cuda")
        distributed.note_all_reduce(4, self.world)
        total_norm = total_norm.pow(0.5)
        _mask_nan_or_inf(total_norm)
        return total_norm

    def has_overflow(self):
        invalid_grad_count = torch.zeros(1, dtype=torch.float, device="cuda")
        for grad in self.averaged_gradients:
            invalid_grad_count += _has_inf_or_nan(grad)
        return invalid_grad_count.bool()

    def check_overflow(self):
        overflow = self.has_overflow()
        overflow_gpu = overflow.to(torch.uint8)
        distributed.note_all_reduce(1, self.world)

    def scaled_global_norm(self):
        norm_groups = []
        norm = self.get_grad_norm(self.averaged_gradients)
        norm_groups.append(norm)
        return combined(norm_groups)

    def unscale_and_clip_grads(self, grad, total_norm):
        combined_scale = self.loss_scale
        clip_norm = total_norm
        is_invalid(clip_norm)
        clip = ((clip_norm / self.loss_scale) + 1e-6) / CLIP
        clip = torch.clamp(clip, min=1.0)
        combined_scale = clip * self.loss_scale
        grad.mul_(1.0 / combined_scale)

    def step(self):
        self._step()
        self._engine_grad_norm = self._global_grad_norm  # DeepSpeed's engine refers to it, too

    @torch.no_grad()
    def _step(self):
        if self.dtype != torch.float32:
            self.check_overflow()
        scaled_global_grad_norm = self.scaled_global_norm()
        is_invalid(scaled_global_grad_norm)
        self._global_grad_norm = scaled_global_grad_norm / self.loss_scale
        if self.rank == self.world - 1:
            flat_grad_partition = _flatten_aligned(self.averaged_gradients, self.partition_size)
        else:
            flat_grad_partition = flatten(self.averaged_gradients)
        torch._set_category(flat_grad_partition, "gradient")
        single_grad_partition = flat_grad_partition.to(torch.float32)
        torch._set_category(single_grad_partition, "gradient")
        del flat_grad_partition
        self.master.grad = single_grad_partition
        self.averaged_gradients = None
        self.unscale_and_clip_grads(single_grad_partition, scaled_global_grad_norm)
        self.optimizer.step()
        self.master.grad = None
        del single_grad_partition
        self.partition.copy_(self.master)
        if self.world > 1:
            distributed.note_all_gather(self.partition_size * self.flat.element_size(), self.world)
        self._update_model_weights()

    def zero_grad(self, set_to_none=True):
        # step() of DeepSpeed's engine has done it
        return None


# ---- DeepSpeedEngine ----


class Engine(nn.Module):
    # What deepspeed.initialize() returns: calls the model; backward() takes the place of the loss's.
    def __init__(self, module, settings):
        super().__init__()
        self.module = module
        self.accumulate = settings["accumulate"]
        for p in module.parameters():
            distributed.note_broadcast(p.numel() * p.element_size(), settings["world"], settings["rank"] == "0")

    def forward(self, *inputs, **kwargs):
        self.optimizer.begin_forward()
        return self.module(*inputs, **kwargs)

    def backward(self, loss, is_boundary):
        self.optimizer.is_boundary = is_boundary
        loss = loss / self.accumulate
        gas_scaled_loss = loss
        loss = loss * self.optimizer.loss_scale
        loss.backward()
        self.optimizer.epilogue()


def dtype_of(settings):
    # what the parameters and the batch are cast to; None: nothing is cast
    return {"off": None, "bf16": torch.bfloat16, "fp16": torch.float16}[settings["mp-policy"]]


def cast_parameters(model, settings):
    # on the host; buffers stay as they are
    dtype = dtype_of(settings)
    for p in model.parameters():
        if dtype is not None and p.is_floating_point():
            p.data = p.data.to(dtype)
