# lang/prelude/fsdp/fsdp_params.py - the parameters of fully_shard: FSDPParam.
#
# For:       fsdp.py.
# Invariant: as in fsdp.py: names and their order are those of PyTorch 2.15.
import torch
import torch.nn as nn

import _dtensor as dtensor
import _tensor_parallel as tensor_parallel


class Param:
    # One parameter: its shard, which the optimizer trains, and its whole, whose memory comes and goes.
    # grad_layout: with tp what the gradient is, as tensor_parallel.parallelize_over() says; None: as the parameter
    def __init__(self, data, slots, name, mesh, grad_layout, is_on_host):
        rank = mesh.shard_rank
        self.tp = mesh.tp
        self.grad_layout = grad_layout
        self.tp_shares = torch._shares(data)
        # over the processes of tp; PyTorch: may_reduce_grad_outside_dp
        self.is_replicated = self.tp_shares > 1 or grad_layout == dtensor.PARTIAL
        self.slots = slots
        self.name = name
        self.size = tuple(data.shape)
        self.stride = tuple(data.stride())
        if len(self.size) == 0:
            raise ValueError(f"fully_shard doesn't support scalar parameters. Change {name} to a 1D tensor with numel "
                             "equal to 1.")
        if not data.is_contiguous():
            raise NotImplementedError(f"FSDP does not support non-contiguous parameters yet: {name}")
        self.rows = (self.size[0] + mesh.shards - 1) // mesh.shards
        mine = max(0, min(self.rows, self.size[0] - rank * self.rows))
        padded = data.new_zeros((self.rows,) + self.size[1:])
        torch._set_category(padded, "parameter")
        if mine > 0:
            padded.narrow(0, 0, mine).copy_(data.narrow(0, rank * self.rows, mine))
        if is_on_host:
            padded = padded.to("cpu")  # and pinned
        self.shard = padded.view(-1)
        self.sharded = nn.Parameter(padded.narrow(0, 0, mine), requires_grad=data.requires_grad)
        torch._set_name(self.sharded, name)
        self.output = None
        self.unsharded = None
        for m, name in slots:
            setattr(m, name, self.sharded)

    def init_output(self, shards, dtype):
        self.output = torch.empty(self.shard.numel() * shards, dtype=dtype, device="cuda")
        torch._set_category(self.output, "parameter")
        torch._set_name(self.output, self.name)

    def init_unsharded(self, grad_dtype):
        # with a version of its own: a copy into the output does not count as a change of the parameter
        self.unsharded = nn.Parameter(torch._apart(self.output).as_strided(self.size, self.stride, 0),
                                      requires_grad=self.sharded.requires_grad)
        torch._set_name(self.unsharded, self.name)
        if self.unsharded.requires_grad:
            torch._set_grad_dtype(self.unsharded, grad_dtype)
        if self.tp_shares > 1:
            torch._set_shares(self.unsharded, self.tp_shares)
        if self.grad_layout == tensor_parallel.WHOLE_ROWS:
            torch._set_whole_grad(self.unsharded)

    def unsharded_grad_data(self):
        # with a grad_layout: the gradient, redistributed over the processes of tp as the parameter is
        grad = self.unsharded.grad
        if self.grad_layout == dtensor.PARTIAL:
            return dtensor.relaid(grad, dtensor.PARTIAL, dtensor.REPLICATE, self.tp)
        return dtensor.relaid(grad, dtensor.REPLICATE, 0, self.tp)
