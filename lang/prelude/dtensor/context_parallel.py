# lang/prelude/dtensor/context_parallel.py - context_parallel: sequences of a batch are sharded over `cp` processes,
# with ring attention between them.
#
# For:       train.py; docs/internals/context-parallel.md has the sequence and how it was measured.
# Invariant: names, and what each of them holds how long, are those of PyTorch 2.15's
#            torch.distributed.tensor.experimental._context_parallel, because the memory events depend on them. No data
#            is sent: the shards of other processes are assumed to be like this one's.
import math

import torch
import torch.nn as nn

import _dtensor as dtensor
import _mesh as device_mesh

_SEQ_DIM = 2
_ROUND_ROBIN_CYCLE = 2
_SKIP = "skip"


def check(model, settings):
    # refuse what is not known to be equal to PyTorch's, before anything is on the device
    if settings["cp"] == 1:
        return
    if settings["checkpoint"] == "selective":
        raise ValueError("checkpoint=selective: together with cp it is not followed here; use checkpoint=blocks")
    if settings["offload"] != "off":
        raise ValueError(f"offload={settings['offload']}: with cp attention saves DTensors, which save_on_cpu() cannot "
                         "copy; use checkpoint, or offload-policy=cpu")
    _model_buffers(model, settings["cp-buffers"])


class _Options:
    # rank, size: of this process in the group of cp; is_balanced: whether shards are made by head-tail load balancing
    def __init__(self, rank, size, rotate, is_balanced):
        self.rank = rank
        self.size = size
        self.rotate = rotate
        self.is_balanced = is_balanced
        self.has_attended = False


# ---- ring attention: what is sent ----


def _behavior(options, i, is_causal):
    # of the keys and values of round `i`: with a causal mask, without, or not at all
    if not is_causal:
        return False
    if i == 0:
        return True
    if (options.rank - i) % options.size < options.rank or options.is_balanced:
        return False
    return _SKIP


class _AllToAllRotater:
    def __init__(self, options):
        self.options = options
        self.buffer = None

    def exchange_buffers(self, curr_buffer):
        curr_buffer = curr_buffer.contiguous()
        self.buffer = torch.empty_like(curr_buffer)
        torch._set_category(self.buffer, "other")
        self.buffer.copy_(curr_buffer)
        for i in range(self.options.size):  # what is not for the next process is empty
            size = curr_buffer.numel() * curr_buffer.element_size() if i == 0 else 0
            torch._collective("ncclSend", size, size)
            torch._collective("ncclRecv", size, 0)
        torch._set_pending(self.buffer, curr_buffer)

    def next_buffer(self):
        torch._set_pending(self.buffer, None)
        return self.buffer


class _AllGatherRotater:
    # gathers once what all rounds need
    def __init__(self, options):
        self.options = options
        self.aggregated_buffer = None
        self.idx = 0

    def exchange_buffers(self, curr_buffer):
        self.idx += 1
        if self.aggregated_buffer is None:
            self.aggregated_buffer = dtensor.all_gather(curr_buffer, 0, self.options)

    def next_buffer(self):
        torch._set_pending(self.aggregated_buffer, None)
        return self.aggregated_buffer.chunk(self.options.size)[self.options.rank - self.idx]


def _create_rotater(options, method):
    return _AllToAllRotater(options) if method == "alltoall" else _AllGatherRotater(options)


# ---- ring attention: forward ----


def _partial_update(original, new, dim, n_chunks, idx, add):
    chunks = list(original.chunk(n_chunks, dim=dim))
    if add:
        chunks[idx] += new
    else:
        chunks[idx] = new
    return torch.cat(chunks, dim=dim)


class _SDPAMerger:
    def __init__(self):
        self._out = None
        self._lse = None
        self._out_dtype = torch.float32

    def _merge_one(self, block_out, block_lse, partial):
        block_lse = block_lse.unsqueeze(-1)
        if self._lse is None:
            self._lse = block_lse
            self._out = block_out
            return
        lse = self._lse.chunk(_ROUND_ROBIN_CYCLE, dim=_SEQ_DIM)[1] if partial else self._lse
        out = self._out.chunk(_ROUND_ROBIN_CYCLE, dim=_SEQ_DIM)[1] if partial else self._out
        rows = block_out.shape[_SEQ_DIM]
        if lse.shape[_SEQ_DIM] != rows or block_lse.shape[_SEQ_DIM] != rows:
            raise RuntimeError(f"cp: results of {rows} rows do not merge: memory-efficient attention pads their "
                               "logsumexp to a multiple of 32 rows. Take sequences whose shards, with head-tail load "
                               "balancing halves of them, have such a multiple, or flash attention: mp-policy=bf16")
        out = out - nn.functional.sigmoid(block_lse - lse) * (out - block_out)
        lse = lse - nn.functional.logsigmoid(lse - block_lse)
        if partial:
            self._lse = _partial_update(self._lse, lse, _SEQ_DIM, _ROUND_ROBIN_CYCLE, 1, False)
            self._out = _partial_update(self._out, out, _SEQ_DIM, _ROUND_ROBIN_CYCLE, 1, False)
        else:
            self._lse = lse
            self._out = out

    def step(self, out, lse, partial):
        self._out_dtype = out.dtype
        out = out.to(torch.float32)
        lse = lse.to(torch.float32)
        self._merge_one(out, lse, partial)

    def results(self):
        out = self._out.to(self._out_dtype)
        lse = self._lse.squeeze(-1)
        return out, lse


def _attend(kernel, query, key, value, is_causal):
    # what the kernel returns: (out, logsumexp, two tensors of random state)
    if kernel.is_flash:
        return torch._scaled_dot_product_flash_attention(query, key, value, kernel.dropout_p, is_causal, kernel.scale)
    return torch._scaled_dot_product_efficient_attention(query, key, value, None, True, kernel.dropout_p, is_causal,
                                                         kernel.scale)


def _ring_attention(options, kernel, query, key, value, is_causal):
    if is_causal and query.size(2) != key.size(2):
        raise NotImplementedError("is_causal requires the same query and context sequence lengths")
    next_kv = None
    key = key.contiguous()
    value = value.contiguous()
    sdpa_merger = _SDPAMerger()
    saved_rest = None
    rotater = _create_rotater(options, options.rotate)
    for i in range(options.size):
        if i > 0:
            next_kv = rotater.next_buffer()
            key = next_kv[:key.numel()].reshape(key.shape)
            value = next_kv[key.numel():].reshape(value.shape)
        if i < options.size - 1:
            next_kv = torch.cat([key.flatten(), value.flatten()])
            next_kv = rotater.exchange_buffers(next_kv)
        is_causal_behavior = _behavior(options, i, is_causal)
        if is_causal_behavior == _SKIP:
            continue
        if i == 0 or not options.is_balanced or not is_causal:
            q, k, v, partial = (query, key, value, False)
        elif i <= options.rank:
            q, k, v, partial = (query, key.chunk(_ROUND_ROBIN_CYCLE, dim=2)[0],
                                value.chunk(_ROUND_ROBIN_CYCLE, dim=2)[0], False)
        else:
            q, k, v, partial = query.chunk(2, dim=2)[1], key, value, True
        out, logsumexp, *rest = _attend(kernel, q, k, v, is_causal_behavior)
        if saved_rest is None:
            saved_rest = rest
        sdpa_merger.step(out, logsumexp, partial)
    return (*sdpa_merger.results(), *saved_rest)


# ---- ring attention: backward ----


def _attend_backward(kernel, grad_out, query, key, value, out, logsumexp, state, is_causal):
    op = torch._scaled_dot_product_efficient_attention_backward
    if kernel.is_flash:
        op = torch._scaled_dot_product_flash_attention_backward
    return op(grad_out, query, key, value, out, logsumexp, state, kernel.dropout_p, is_causal, kernel.scale)


def _ring_attention_backward(options, kernel, grad_out, query, key, value, out, logsumexp, state, is_causal):
    next_kv = None
    next_grad_kv = None
    grad_query_, grad_key_, grad_value_ = None, None, None
    grad_query = torch.zeros_like(query, dtype=torch.float32)
    grad_key = torch.zeros_like(key, dtype=torch.float32)
    grad_value = torch.zeros_like(value, dtype=torch.float32)
    key = key.contiguous()
    value = value.contiguous()
    kv_rotater = _create_rotater(options, options.rotate)
    dkv_rotater = _create_rotater(options, "alltoall")
    for i in range(options.size):
        if i > 0:
            buffer = kv_rotater.next_buffer()
            pointer = 0
            key = buffer[pointer:pointer + key.numel()].reshape(key.shape)
            pointer += key.numel()
            value = buffer[pointer:pointer + value.numel()].reshape(value.shape)
            pointer += value.numel()
        if i != options.size - 1:
            next_kv = torch.cat([key.flatten(), value.flatten()])
            kv_rotater.exchange_buffers(next_kv)
        is_causal_behavior = _behavior(options, i, is_causal)
        if is_causal_behavior != _SKIP:
            if i == 0 or not options.is_balanced or not is_causal:
                q, k, v, out_, dout, lse = (query, key, value, out, grad_out, logsumexp)
            elif i <= options.rank:
                q, k, v, out_, dout, lse = (query, key.chunk(2, dim=_SEQ_DIM)[0], value.chunk(2, dim=_SEQ_DIM)[0],
                                            out, grad_out, logsumexp)
            else:
                q, k, v, out_, dout, lse = (query.chunk(2, dim=_SEQ_DIM)[1], key, value, out.chunk(2, dim=_SEQ_DIM)[1],
                                            grad_out.chunk(2, dim=_SEQ_DIM)[1],
                                            logsumexp.chunk(2, dim=_SEQ_DIM)[1].contiguous())
            grad_query_, grad_key_, grad_value_ = _attend_backward(kernel, dout, q, k, v, out_, lse, state,
                                                                   is_causal_behavior)
        else:
            grad_query_ = torch.zeros_like(query, dtype=torch.float32)
            grad_key_ = torch.zeros_like(key, dtype=torch.float32)
            grad_value_ = torch.zeros_like(value, dtype=torch.float32)
        if i == 0:
            grad_key += grad_key_
            grad_value += grad_value_
        else:
            pointer = 0
            next_grad_kv = dkv_rotater.next_buffer()
            grad_key = next_grad_kv[pointer:pointer + grad_key.numel()].reshape(grad_key.shape)
            pointer += grad_key.numel()
            grad_value = next_grad_kv[pointer:pointer + grad_value.numel()].reshape(grad_value.shape)
            if i <= options.rank and options.is_balanced:
                grad_key = _partial_update(grad_key, grad_key_, _SEQ_DIM, _ROUND_ROBIN_CYCLE, 0, True)
                grad_value = _partial_update(grad_value, grad_value_, _SEQ_DIM, _ROUND_ROBIN_CYCLE, 0, True)
            else:
                grad_key += grad_key_
                grad_value += grad_value_
        next_grad_kv = torch.cat([grad_key.flatten(), grad_value.flatten()])
        dkv_rotater.exchange_buffers(next_grad_kv)
        if i <= options.rank or not options.is_balanced:
            grad_query += grad_query_
        else:
            grad_query = _partial_update(grad_query, grad_query_, _SEQ_DIM, _ROUND_ROBIN_CYCLE, 1, True)
    grad_query = grad_query.to(query.dtype)
    next_grad_kv = dkv_rotater.next_buffer().to(key.dtype)
    grad_key = next_grad_kv[:grad_key.numel()].reshape(grad_key.shape)
    grad_value = next_grad_kv[grad_key.numel():].reshape(grad_value.shape)
    return grad_query, grad_key, grad_value


# ---- attention of DTensors ----


class _Kernel:
    # others: what it returned beside its result, in the last call
    def __init__(self, is_flash, dropout_p, scale):
        self.others = None
        self.is_flash = is_flash
        self.dropout_p = dropout_p
        self.scale = scale


def _kernel_of(query, key, value, dropout_p, scale, enable_gqa):
    # flash or memory-efficient attention, as scaled_dot_product_attention() chooses
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("cp: scaled_dot_product_attention() is followed for tensors of four dimensions")
    heads = key.shape[1]
    if (query.dtype != key.dtype or query.dtype != value.dtype or query.shape[0] != key.shape[0]
            or key.shape[:3] != value.shape[:3] or query.shape[3] != key.shape[3] or query.shape[1] % heads != 0
            or query.shape[1] != heads and heads != 1 and not enable_gqa):
        raise RuntimeError(f"scaled_dot_product_attention: query {tuple(query.shape)}, key {tuple(key.shape)} and "
                           f"value {tuple(value.shape)} do not fit together")
    is_half = query.dtype in (torch.float16, torch.bfloat16)
    align = 8 if is_half else 4
    if query.dtype == torch.float64 or query.shape[3] % align != 0 or value.shape[3] % align != 0:
        raise NotImplementedError("cp: scaled_dot_product_attention() is followed in float32 for heads of a multiple "
                                  "of 4 columns, in half types of 8: it pads others, or composes them of other ops")
    is_flash = is_half and query.shape[3] <= 256 and query.shape[3] == value.shape[3]
    return _Kernel(is_flash, dropout_p, 1.0 / math.sqrt(query.shape[3]) if scale is None else scale)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, options, kernel, is_causal):
        out, logsumexp, first, second = _ring_attention(options, kernel, query, key, value, is_causal)
        kernel.others = (logsumexp, first, second)
        ctx.options = options
        ctx.kernel = kernel
        ctx.is_causal = is_causal
        if kernel.is_flash:
            ctx.save_for_backward(key, query, value, logsumexp, out, first, second)
        else:
            ctx.save_for_backward(key, query, value, logsumexp, out, second, first)
        return out

    @staticmethod
    def backward(ctx, grad_out):
        saved = ctx.saved_tensors  # key, query, value, logsumexp, out, random state
        return (*_ring_attention_backward(ctx.options, ctx.kernel, grad_out, saved[1], saved[0], saved[2], saved[4],
                                          saved[3], saved[5], ctx.is_causal), None, None, None)


class _View(torch.autograd.Function):
    # from a tensor to a DTensor, and back
    @staticmethod
    def forward(ctx, t):
        return t.view_as(t)

    @staticmethod
    def backward(ctx, grad):
        return grad


def _attention(options, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
               enable_gqa=False):
    if attn_mask is not None:
        raise NotImplementedError("cp: attn_bias is not supported yet")
    if not is_causal and options.is_balanced:
        raise RuntimeError("Load balancing requires `is_causal=True`.")
    options.has_attended = True
    q, k, v = query, key, value
    if torch.is_autocast_enabled("cuda"):
        dtype = torch.get_autocast_dtype("cuda")
        v, k, q = value.to(dtype), key.to(dtype), query.to(dtype)  # C++ evaluates arguments from the last one on
    kernel = _kernel_of(q, k, v, dropout_p, scale, enable_gqa)
    out = _Attention.apply(q, k, v, options, kernel, is_causal)
    logsumexp, first, second = kernel.others
    kernel.others = None
    del logsumexp, first, second
    del q, k, v
    return out


def _with_views(args, kwargs):
    all_args = [_View.apply(arg) if isinstance(arg, torch.Tensor) else arg for arg in args]
    all_kwargs = {name: _View.apply(arg) if isinstance(arg, torch.Tensor) else arg for name, arg in kwargs.items()}
    return tuple(all_args), all_kwargs


def _scaled_dot_product_attention(options):
    def scaled_dot_product_attention(*args, **kwargs):
        args, kwargs = _with_views(args, kwargs)
        outputs = _attention(options, *args, **kwargs)
        return _View.apply(outputs)

    return scaled_dot_product_attention


# ---- the context ----


def _load_balance_indices(seq_length, world_size):
    # _HeadTailLoadBalancer: a shard is a part of the head and one of the tail, so that all have the same share of a
    # causal mask
    chunk_size = seq_length // (world_size * 2)
    indices = torch.arange(seq_length, dtype=torch.int, device="cuda")
    chunks = indices.view(world_size * 2, chunk_size)
    head_idx = torch.arange(world_size, device="cuda")
    tail_idx = 2 * world_size - 1 - head_idx
    paired = torch.stack([chunks[head_idx], chunks[tail_idx]], dim=1)
    all_indices_tensor = paired.reshape(-1)
    return all_indices_tensor.unsqueeze(0)


def _shards(buffers, buffer_seq_dims, options):
    seq_length = buffers[0].shape[buffer_seq_dims[0]]
    load_balance_indices = _load_balance_indices(seq_length, options.size) if options.is_balanced else None
    new_buffers = []
    for buffer, seq_dim in zip(buffers, buffer_seq_dims):
        if buffer.shape[seq_dim] != seq_length:
            raise ValueError(f"cp-buffers: a tensor of {tuple(buffer.shape)} has not {seq_length} elements along "
                             f"dimension {seq_dim}, as the batch has")
        if load_balance_indices is not None:
            if seq_dim == 0:
                buffer = torch.index_select(buffer, 0, load_balance_indices[0])
            else:
                indices = load_balance_indices
                indices = indices.expand(buffer.size(0), seq_length)
                for i in range(1, seq_dim):
                    indices = indices.unsqueeze(i)
                for i in range(seq_dim + 1, buffer.dim()):
                    indices = indices.unsqueeze(-1)
                indices = indices.expand(buffer.shape)
                buffer = torch.gather(buffer, seq_dim, indices)
        new_buffers.append(_clone(buffer.chunk(options.size, seq_dim)[options.rank]))
    return new_buffers


def _clone(t):
    # dense
    return t.clone() if t.is_contiguous() else t.contiguous()


def _tensors_of(value, found):
    if isinstance(value, torch.Tensor):
        if value.dim() > 1 and (len(found) == 0 or value.shape[1] == found[0].shape[1]):
            found.append(value)
    elif isinstance(value, (list, tuple)):
        for v in value:
            _tensors_of(v, found)
    elif isinstance(value, dict):
        for v in value.values():
            _tensors_of(v, found)


def _model_buffers(model, entries):
    found = []
    named = dict(model.named_buffers())
    for entry in [] if entries == "none" else entries.split(","):
        words = entry.split(":")
        if len(words) != 2 or not words[1].isdigit():
            raise ValueError(f"cp-buffers={entries}: PATH:DIMENSION with commas between, as rope:0")
        if words[0] not in named:
            raise ValueError(f"cp-buffers={entries}: the model has no buffer `{words[0]}`")
        if int(words[1]) >= named[words[0]].dim():
            raise ValueError(f"cp-buffers={entries}: {words[0]} has no dimension {words[1]}")
        found.append((named[words[0]], int(words[1])))
    return found


class _Context:
    # what context_parallel() holds until it is left
    def __init__(self, model, batch, settings):
        buffers = []
        _tensors_of(batch, buffers)
        if len(buffers) == 0:
            raise ValueError("cp: no tensor of the batch has a second dimension, which would be the sequence")
        buffer_seq_dims = [1] * len(buffers)
        of_batch = len(buffers)
        for buffer, dim in _model_buffers(model, settings["cp-buffers"]):
            buffers.append(buffer)
            buffer_seq_dims.append(dim)
        size = settings["cp"]
        seq_length = buffers[0].shape[1]
        if seq_length % size != 0:
            raise ValueError(f"cp={size}: it does not divide the {seq_length} elements of the batch's sequences; "
                             "uneven shards are not followed here")
        is_once = settings["data"] == "once"
        self.original_buffers = [b.clone() if is_once or i >= of_batch else None for i, b in enumerate(buffers)]
        cp_rank = device_mesh.Mesh(settings).cp_rank
        options = _Options(cp_rank, size, settings["cp-rotate"], seq_length % (size * 2) == 0)
        self.shards = _shards(buffers, buffer_seq_dims, options)
        for buffer, shard in zip(buffers, self.shards):
            shard = shard.clone()
            torch._resize(buffer, shard.shape)
            buffer.copy_(shard)
        self.shard = shard
        self.buffers = buffers
        self.options = options
        self.plain = nn.functional.scaled_dot_product_attention
        nn.functional.scaled_dot_product_attention = _scaled_dot_product_attention(options)

    def leave(self):
        nn.functional.scaled_dot_product_attention = self.plain
        original_buffer = None
        for buffer, original_buffer in zip(self.buffers, self.original_buffers):
            if original_buffer is not None:
                torch._resize(buffer, original_buffer.shape)
                buffer.copy_(original_buffer)
        self.buffers = None
        self.original_buffers = None
        while len(self.shards) > 0:
            self.shards.pop()
        self.shard = None


@torch.no_grad()
def enter(model, inputs, targets, settings):
    # the context that forward, loss and backward of a batch run in
    return _Context(model, (inputs, targets), settings)


@torch.no_grad()
def leave(context, settings):
    context.leave()
    if not context.options.has_attended and not settings.get("attention_warned"):
        settings["attention_warned"] = True
        torch._warn("cp: no F.scaled_dot_product_attention() ran, so each process attends to its own shard of the "
                    "sequence alone")
