# lang/prelude/backends.py - torch.backends: switches of the libraries, and torch's own of that kind.
#
# For:       net files.
# Invariant: a switch that changes no tensor is kept and has no other effect; one that would is refused with the reason.
import torch

_CUDNN = ("benchmark", "deterministic", "enabled", "allow_tf32")


def _expect_bool(function, value):
    if not isinstance(value, bool):
        raise RuntimeError(f"{function} expects a bool, but got {type(value).__name__}")


def _set_cudnn(name, value):
    if name == "benchmark_limit":
        return
    if name not in _CUDNN:
        raise NotImplementedError(f"torch.backends.cudnn.{name}: PyTorch has no such switch; it has "
                                  "benchmark, deterministic, enabled, allow_tf32 and benchmark_limit")
    _expect_bool(f"set_{name}_cudnn", value)
    if name == "enabled" and not value:
        raise NotImplementedError("torch.backends.cudnn.enabled = False: PyTorch's own convolutions, batch norms and "
                                  "RNNs, whose temporaries differ, are not modelled here; leave it True")


def _set_matmul(name, value):
    known = ("allow_tf32", "allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")
    if name not in known:
        raise AttributeError(f"Unknown attribute {name}")
    if name == "allow_tf32":
        _expect_bool("set_allow_tf32_cublas", value)


class flags:
    # torch.backends.cudnn.flags(...): a region with other switches
    def __init__(self, enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True):
        cudnn = torch.backends.cudnn
        _set_cudnn("enabled", enabled)
        self.inside = (benchmark, benchmark_limit, deterministic, allow_tf32)
        self.outside = (cudnn.benchmark, cudnn.benchmark_limit, cudnn.deterministic, cudnn.allow_tf32)

    def _apply(self, values):
        cudnn = torch.backends.cudnn
        cudnn.benchmark, cudnn.benchmark_limit, cudnn.deterministic, cudnn.allow_tf32 = values

    def __enter__(self):
        self._apply(self.inside)

    def __exit__(self, *args):
        self._apply(self.outside)


def _true():
    return True


_deterministic = [False, False]


def use_deterministic_algorithms(mode, *, warn_only=False):
    # measured with tests/nets/ops: 73 of 406 nets have other temporaries, 7 are refused
    if mode:
        torch._warn_of("not_modelled", "torch.use_deterministic_algorithms(True): its algorithms are not modelled here,"
                       " so the figures are those without it. In PyTorch it needs CUBLAS_WORKSPACE_CONFIG, refuses the "
                       "backward of adaptive pooling, of reflection padding and of linear interpolation, and gives "
                       "indexing, embedding, sort, where, max, min and others further temporaries")
    _deterministic[0] = mode
    _deterministic[1] = warn_only


def are_deterministic_algorithms_enabled():
    return _deterministic[0]


def is_deterministic_algorithms_warn_only_enabled():
    return _deterministic[1]


torch.use_deterministic_algorithms = use_deterministic_algorithms
torch.are_deterministic_algorithms_enabled = are_deterministic_algorithms_enabled
torch.is_deterministic_algorithms_warn_only_enabled = is_deterministic_algorithms_warn_only_enabled


_precision = ["highest"]


def set_float32_matmul_precision(precision):
    if precision not in ("highest", "high", "medium"):
        torch._warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
                    "setFloat32MatmulPrecision call has no effect.")
        return
    _precision[0] = precision
    torch.backends.cuda.matmul.allow_tf32 = precision != "highest"


def get_float32_matmul_precision():
    return _precision[0]


torch.set_float32_matmul_precision = set_float32_matmul_precision
torch.get_float32_matmul_precision = get_float32_matmul_precision

torch.backends.cudnn._set = _set_cudnn
torch.backends.cudnn.benchmark = False
torch.backends.cudnn.deterministic = False
torch.backends.cudnn.enabled = True
torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark_limit = 10
torch.backends.cudnn.is_available = _true
torch.backends.cudnn.flags = flags
torch.backends.cuda.is_built = _true
torch.backends.cuda.matmul._set = _set_matmul
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True
