# lang/prelude/linalg.py - torch.linalg: the functions that are rows of the op table.
#
# For:       net files.
# Invariant: as functional.py.
import torch


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if ord != 2:
        raise NotImplementedError(f"torch.linalg.vector_norm: ord={ord} is not supported here; use ord=2")
    return torch._op._vector_norm(x, [] if dim is None else dim, keepdim, dtype=dtype)
