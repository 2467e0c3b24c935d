# lang/prelude/fsdp/fsdp_params.py - the parameters of fully_shard: FSDPParam.
#
# For:       fsdp.py.
# Invariant: as in fsdp.py: names and their order are those of PyTorch 2.15.
import torch
import torch.nn as nn

import _dtensor as dtensor
import _tensor_parallel as tensor_parallel


class Param:
    # One parameter. Its tensors are in the lists of its unit.
    # grad_layout: with tp what the gradient is, as tensor_parallel.parallelize_over() says; None: as the parameter
    def __init__(self, data, name, mesh, grad_layout):
        self.mesh = mesh
        self.grad_layout = grad_layout
        self.tp_shares = torch._shares(data)
        # over the processes of tp; PyTorch: may_reduce_grad_outside_dp
        self.is_replicated = self.tp_shares > 1 or grad_layout == dtensor.PARTIAL
        self.name = name
        self.size = tuple(data.shape)
        self.stride = tuple(data.stride())
        if len(self.size) == 0:
            raise ValueError(f"fully_shard doesn't support scalar parameters. Change {name} to a 1D tensor with numel "
                             "equal to 1.")
        if not data.is_contiguous():
            raise NotImplementedError(f"FSDP does not support non-contiguous parameters yet: {name}")

    def new_output(self, numel, dtype):
        output = torch.empty(numel, dtype=dtype, device="cuda")
        torch._set_category(output, "parameter")
        torch._set_name(output, self.name)
        return output

    def unsharded_over(self, output, requires_grad, grad_dtype):
        # with a version of its own: a copy into the output does not count as a change of the parameter
        unsharded = nn.Parameter(torch._apart(output).as_strided(self.size, self.stride, 0),
                                 requires_grad=requires_grad)
        torch._set_name(unsharded, self.name)
        if requires_grad:
            torch._set_grad_dtype(unsharded, grad_dtype)
        if self.tp_shares > 1:
            torch._set_shares(unsharded, self.tp_shares)
        if self.grad_layout == tensor_parallel.WHOLE_ROWS:
            torch._set_whole_grad(unsharded)
        return unsharded

    def redistributed(self, grad):
        # with a grad_layout: the gradient, redistributed over the processes of tp as the parameter is
        if self.grad_layout == dtensor.PARTIAL:
            return dtensor.relaid(grad, dtensor.PARTIAL, dtensor.REPLICATE, self.mesh.tp)
        return dtensor.relaid(grad, dtensor.REPLICATE, 0, self.mesh.tp)
