# torch: the functions that are Python in PyTorch, too.
#
# For:       net files. Everything else of torch is native or a row of the op table.
# Invariant: as functional.py.
import torch


def einsum(*args):
    if len(args) < 2 or not isinstance(args[0], str):
        raise ValueError("einsum(): must specify the equation string and at least one operand")
    equation = args[0]
    operands = args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        _operands = operands[0]
        return einsum(equation, *_operands)
    return torch._op._einsum(equation, operands)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    if p is not None and p != "fro" and p != 2:
        raise NotImplementedError(f"torch.norm: p={p} is not supported here; use p=2")
    return torch._op._vector_norm(input, [] if dim is None else dim, keepdim, dtype=dtype)


def broadcast_tensors(*tensors):
    # one whose shape is the common one already is given back as it is
    shape = []
    for t in tensors:
        own = list(t.shape)
        more = len(own) - len(shape)
        if more > 0:
            shape = [1] * more + shape
        for i in range(len(own)):
            at = len(shape) - len(own) + i
            if shape[at] == 1:
                shape[at] = own[i]
            elif own[i] != 1 and own[i] != shape[at]:
                raise RuntimeError(f"The size of tensor a ({shape[at]}) must match the size of tensor b ({own[i]}) "
                                   f"at non-singleton dimension {at}")
    return tuple([t if list(t.shape) == shape else t.expand(shape) for t in tensors])
