# lang/prelude/torch_functions.py - torch: functions that PyTorch also implements in Python.
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


def norm_except_dim(v, pow=2, dim=0):
    if dim == -1:
        return v.norm(pow)
    if dim != 0 and dim != v.dim() - 1:
        return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)
    size = [1] * v.dim()
    size[dim] = v.shape[dim]
    if dim == 0:
        return v.contiguous().view(v.shape[0], -1).norm(pow, 1).view(size)
    return v.contiguous().view(-1, v.shape[dim]).norm(pow, 0).view(size)


def _weight_norm(v, g, dim=0):
    v = v.contiguous()
    g = g.contiguous()
    if dim == 0 or dim == v.dim() - 1:
        return torch._op._weight_norm_interface(v, g, dim)[0]
    return v * (g / norm_except_dim(v, 2, dim))


def _grouped_mm(input, mat2, offs=None, bias=None, out_dtype=None):
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype != input.dtype:
        raise NotImplementedError("grouped_mm: out_dtype must be the dtype of the operands here")
    return torch._op._grouped_mm(input, mat2, offs)


def dropout(input, p, train):
    return torch._op._dropout(input, p, train)


def dropout_(input, p, train):
    return torch._op._dropout_(input, p, train)


def channel_shuffle(input, groups):
    # made of views and one copy, as PyTorch's own for every device but a phone
    if input.dim() < 3:
        raise RuntimeError("channel_shuffle expects input with > 2 dims, but got input with sizes "
                           f"{list(input.shape)}")
    if groups <= 0 or input.shape[1] % groups != 0:
        raise RuntimeError("Number of channels must be divisible by groups. "
                           f"Got {input.shape[1]} channels and {groups} groups.")
    parts = input.view(input.shape[0], groups, input.shape[1] // groups, -1)
    return parts.permute(0, 2, 1, 3).contiguous().reshape(input.shape)


def _new_of_size(tensor, *size):
    # Tensor.new(2, 3), which machine.c makes a method of tensors
    if len(size) == 1 and isinstance(size[0], tuple):
        size = tuple(size[0])
    for n in size:
        if type(n).__name__ != "int":
            raise NotImplementedError("Tensor.new() takes sizes here, as in x.new(2, 3); "
                                      "for data write torch.tensor(data)")
    return tensor.new_empty(size if len(size) > 0 else (0,))


def hstack(tensors):
    tensors = [t.reshape(1) if t.dim() == 0 else t for t in tensors]
    return torch.cat(tensors, 0 if tensors[0].dim() == 1 else 1)


def vstack(tensors):
    rows = []
    for t in tensors:
        rows.append(t.reshape(1, 1) if t.dim() == 0 else t.unsqueeze(0) if t.dim() == 1 else t)
    return torch.cat(rows, 0)


def tensor_split(input, indices=None, dim=0, sections=None):
    # slices, each with a node of its own
    if input.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    size = input.shape[dim]
    if sections is None and not isinstance(indices, (list, tuple)):
        sections = indices
    if sections is None:
        ends = list(indices) + [size]
    elif sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    else:
        ends = []
        end = 0
        for i in range(sections):
            end += size // sections + (1 if i < size % sections else 0)
            ends.append(end)
    parts = []
    start = 0
    for end in ends:
        parts.append(torch._op._slice(input, dim, start, end))
        start = end
    return tuple(parts)


def diff(input, n=1, dim=-1, prepend=None, append=None):
    if n != 1:
        raise NotImplementedError(f"torch.diff: n={n} is not supported here; use n=1, several times")
    joined = input
    if prepend is not None or append is not None:
        joined = torch.cat([t for t in (prepend, input, append) if t is not None], dim)
    length = joined.shape[dim] - 1
    first = joined.narrow(dim, 0, length)
    if joined.dtype == torch.bool:
        result = joined.narrow(dim, 1, length).logical_xor(first)
    else:
        result = joined.narrow(dim, 1, length) - first
    del joined, first
    return result


def meshgrid(*tensors, indexing=None):
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    if indexing is None:
        torch._warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    if indexing != "ij" and indexing != "xy":
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    tensors = list(tensors)
    swapped = indexing == "xy" and len(tensors) >= 2
    if swapped:
        tensors = [tensors[1], tensors[0]] + tensors[2:]
    shape = [t.numel() for t in tensors]
    grids = []
    for i in range(len(tensors)):
        view_shape = [1] * len(tensors)
        view_shape[i] = -1
        grids.append(tensors[i].view(view_shape).expand(shape))
    if swapped:
        grids = [grids[1], grids[0]] + grids[2:]
    return tuple(grids)


def broadcast_tensors(*tensors):
    # a tensor that already has the common shape is returned unchanged
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
