"""tests/programs/published/sharded/te_by_hand.py - memory of Transformer Engine's C++ (transformer_engine_torch 2.11).

That extension has no wheel and is compiled on the machine; its libraries of kernels have wheels. Over a simulated GPU
kernels do nothing, so what remains of a function is what it allocates: outputs and what it keeps for backward, written
out here after csrc/extensions for bfloat16, float16 and float32. FP8, overlap of products with communication and what
only inference calls are not here, and say so when they are called. Not here either: workspaces of the norms, and those
of cuDNN's attention, which a simulated GPU does not know.
"""
import ctypes
import enum
import sys
import types

import torch

NAMES = {
    "DType": "kByte=0 kInt32=2 kFloat32=4 kFloat16=5 kBFloat16=6 kFloat8E4M3=7 kFloat8E5M2=8 kFloat4E2M1=10",
    "NVTE_Bias_Type": "NVTE_NO_BIAS NVTE_PRE_SCALE_BIAS NVTE_POST_SCALE_BIAS NVTE_ALIBI",
    "NVTE_Mask_Type": "NVTE_NO_MASK NVTE_PADDING_MASK NVTE_CAUSAL_MASK NVTE_PADDING_CAUSAL_MASK "
                      "NVTE_CAUSAL_BOTTOM_RIGHT_MASK NVTE_PADDING_CAUSAL_BOTTOM_RIGHT_MASK",
    "NVTE_Softmax_Type": "NVTE_VANILLA_SOFTMAX NVTE_OFF_BY_ONE_SOFTMAX NVTE_LEARNABLE_SOFTMAX",
    "NVTE_QKV_Format": "NVTE_SBHD NVTE_BSHD NVTE_THD NVTE_BSHD_2SBHD NVTE_SBHD_2BSHD NVTE_THD_2BSHD NVTE_THD_2SBHD",
    "NVTE_QKV_Layout": "NVTE_SB3HD NVTE_SBH3D NVTE_SBHD_SB2HD NVTE_SBHD_SBH2D NVTE_SBHD_SBHD_SBHD NVTE_BS3HD "
                       "NVTE_BSH3D NVTE_BSHD_BS2HD NVTE_BSHD_BSH2D NVTE_BSHD_BSHD_BSHD NVTE_T3HD NVTE_TH3D "
                       "NVTE_THD_T2HD NVTE_THD_TH2D NVTE_THD_THD_THD NVTE_SBHD_BSHD_BSHD NVTE_BSHD_SBHD_SBHD "
                       "NVTE_THD_BSHD_BSHD NVTE_THD_SBHD_SBHD NVTE_Paged_KV_BSHD_BSHD_BSHD "
                       "NVTE_Paged_KV_BSHD_SBHD_SBHD NVTE_Paged_KV_SBHD_BSHD_BSHD NVTE_Paged_KV_SBHD_SBHD_SBHD "
                       "NVTE_Paged_KV_THD_BSHD_BSHD NVTE_Paged_KV_THD_SBHD_SBHD",
    "NVTE_Fused_Attn_Backend": "NVTE_No_Backend=-1 NVTE_F16_max512_seqlen=0 NVTE_F16_arbitrary_seqlen=1 NVTE_FP8=2",
    "Float8BlockScaleTensorFormat": "GEMM_READY COMPACT",
    "CommOverlapType": "RS AG",
    "CommOverlapAlgo": "BULK_OVERLAP_AG BULK_OVERLAP_RS SPLIT_PIPELINED_AG_P2P SPLIT_PIPELINED_RS "
                       "SPLIT_PIPELINED_RS_P2P ATOMIC_GEMM_RS ATOMIC_GEMM_AG_P2P ATOMIC_GEMM_RS_P2P "
                       "EXTERNAL_BULK_OVERLAP_AG",
    "FP8FwdTensors": "GEMM1_INPUT GEMM1_WEIGHT GEMM1_OUTPUT GEMM2_INPUT GEMM2_WEIGHT GEMM2_OUTPUT GEMM3_INPUT "
                     "GEMM3_WEIGHT GEMM3_OUTPUT",
    "FP8BwdTensors": "GRAD_OUTPUT1 GRAD_INPUT1 GRAD_OUTPUT2 GRAD_INPUT2 GRAD_OUTPUT3 GRAD_INPUT3",
}
CLASSES = ("FP8TensorMeta CommOverlapHelper CommOverlapCore CommOverlapBase CommOverlapP2PBase CommOverlap "
           "CommOverlapP2P")


def enum_of(name, text):
    values = {}
    for word in text.split():
        member, _, value = word.partition("=")
        values[member] = int(value) if value else len(values)
    return enum.IntEnum(name, values)


ENUMS = {name: enum_of(name, text) for name, text in NAMES.items()}
TORCH = {0: torch.uint8, 2: torch.int32, 4: torch.float32, 5: torch.float16, 6: torch.bfloat16}


def empty(shape, dtype):
    return torch.empty(tuple(shape), dtype=dtype, device="cuda")


# ---- products ----

def product_shape(a, transposes_a, b, transposes_b):
    columns = a.numel() // a.shape[-1] if transposes_a else a.shape[-1]
    return [b.shape[-1], columns] if transposes_b else [*b.shape[:-1], columns]


def generic_gemm(a, transposes_a, b, transposes_b, out, quantizer, out_dtype, bias, bias_type, gelu, gelu_in, grad,
                 workspace, workspace_size, accumulate, use_split_accumulator, comm_overlap=None, comm_type=None,
                 extra_output=None, bulk_overlap=False, alpha=1.0, beta=None):
    assert quantizer is None and comm_overlap is None
    shape = product_shape(a, transposes_a, b, transposes_b)
    if out is None:
        out = empty(shape, TORCH[out_dtype] if out_dtype is not None else a.dtype)
    bias_grad = empty([b.shape[-1]], out.dtype) if bias is not None and grad else None
    before_gelu = empty(shape, out.dtype) if gelu and not grad else None
    return out, bias_grad, before_gelu, extra_output


def te_general_grouped_gemm(a, transposes_a, b, transposes_b, out, out_dtype, splits, bias, *_):
    assert out is not None
    return bias


# ---- norms, activations, rotary embeddings, softmax ----

def layernorm_fwd(input, weight, bias, eps, ln_out, quantizer, otype, sm_margin, zero_centered_gamma):
    assert quantizer is None
    rows = input.numel() // input.shape[-1]
    mean, inverse = empty([rows], torch.float32), empty([rows], torch.float32)
    return [empty(input.shape, TORCH[otype]) if ln_out is None else ln_out, mean, inverse]


def layernorm_bwd(grad, x, mean, inverse, weight, sm_margin, zero_centered_gamma):
    grad, x = grad.contiguous(), x.contiguous()
    return [torch.empty_like(x), torch.empty_like(weight), torch.empty_like(weight)]


def rmsnorm_fwd(input, weight, eps, ln_out, quantizer, otype, sm_margin, zero_centered_gamma):
    assert quantizer is None
    inverse = empty([input.numel() // input.shape[-1]], torch.float32)
    return [empty(input.shape, TORCH[otype]) if ln_out is None else ln_out, None, inverse]


def rmsnorm_bwd(grad, x, inverse, weight, sm_margin, zero_centered_gamma):
    grad, x = grad.contiguous(), x.contiguous()
    return [torch.empty_like(x), torch.empty_like(weight)]


def activation(divisor):
    def forward(input, quantizer, *_):
        assert quantizer is None
        input = input.contiguous()
        return empty([*input.shape[:-1], input.shape[-1] // divisor], input.dtype)
    return forward


def activation_backward(grad, fwd_input, quantizer, *_):
    assert quantizer is None
    grad, fwd_input = grad.contiguous(), fwd_input.contiguous()
    return empty(fwd_input.shape, fwd_input.dtype)


def rope(tensor, *_):
    return empty(tensor.shape, tensor.dtype)


def softmax(input, *_):
    return empty(input.shape, input.dtype)


def softmax_backward(grad, *_):
    return grad.contiguous()  # in place


# ---- attention ----

def get_fused_attn_backend(*args):
    """As the library of kernels says."""
    import transformer_engine.common

    function = transformer_engine.common._TE_LIB_CTYPES.nvte_get_fused_attn_backend
    function.restype = ctypes.c_int
    function.argtypes = [ctypes.c_bool, *[ctypes.c_int] * 6, ctypes.c_float, *[ctypes.c_size_t] * 6,
                         *[ctypes.c_int64] * 2, *[ctypes.c_bool] * 2]
    return ENUMS["NVTE_Fused_Attn_Backend"](function(*args))


def fused_attn_fwd(max_q, max_kv, is_training, scale, dropout, set_zero, layout, bias_type, mask, softmax_type, window,
                   lengths_q, lengths_kv, q, k, v, dtype, *_):
    """The output, the logarithm of each row's sum, and the state of the random numbers."""
    name, batch = layout.name, lengths_q.numel() - 1
    none = empty([0], torch.float32)  # S
    out = empty([*q.shape[:-1], v.shape[-1]], dtype)
    random = empty([2], torch.int64)
    heads = q.shape[-2]
    rows = [q.shape[0], heads, 1] if name.startswith("NVTE_T") else [batch, heads, max_q, 1]
    del none
    return [out, empty(rows, torch.float32), random]


def fused_attn_bwd(max_q, max_kv, scale, dropout, set_zero, layout, bias_type, mask, softmax_type, window,
                   deterministic, lengths_q, lengths_kv, q, k, v, out, grad, dtype, grad_type, *_):
    kind, name = TORCH[grad_type], layout.name
    if name.endswith("3HD"):
        whole = empty([*q.shape[:-2], 3, *q.shape[-2:]], kind)
        parts = list(whole.unbind(-3))
    elif name.endswith("H3D"):
        whole = empty([*q.shape[:-1], 3, q.shape[-1]], kind)
        parts = list(whole.unbind(-2))
    elif name.endswith("2HD"):
        parts = [empty(q.shape, kind), *empty([*k.shape[:-2], 2, *k.shape[-2:]], kind).unbind(-3)]
    elif name.endswith("H2D"):
        parts = [empty(q.shape, kind), *empty([*k.shape[:-1], 2, k.shape[-1]], kind).unbind(-2)]
    else:
        parts = [empty(t.shape, kind) for t in (q, k, v)]
    return [*parts, None, None]


# ---- optimizer, permutation ----

def nothing(*_, **__):
    return None


def multi_tensor_l2norm(chunk, flag, lists, per_tensor=False):
    partial = torch.zeros(320, dtype=torch.float32, device="cuda")
    total = torch.empty(1, dtype=torch.float32, device="cuda")
    count = len(lists[0])
    if not per_tensor:
        return total, empty([0], torch.float32)
    chunks = max((t.numel() + chunk - 1) // chunk for t in lists[0])
    each = torch.zeros(count * chunks, dtype=torch.float32, device="cuda")
    result = total, empty([count], torch.float32)
    del partial, each
    return result


def functions():
    table = {name: value for name, value in globals().items() if isinstance(value, types.FunctionType)}
    for name in ("gelu", "qgelu", "relu", "srelu", "silu"):
        table[name] = activation(1)
    for name in ("geglu", "qgeglu", "reglu", "sreglu", "swiglu", "clamped_swiglu"):
        table[name] = activation(2)
    for name in list(table):
        if name.endswith(("lu", "lu_")) and not name.startswith("d"):
            table["clamped_dswiglu" if name.startswith("clamped") else "d" + name] = activation_backward
    for name in ("scaled_softmax", "scaled_masked_softmax", "scaled_upper_triang_masked_softmax",
                 "scaled_aligned_causal_masked_softmax"):
        table[name + "_forward"], table[name + "_backward"] = softmax, softmax_backward
    table["fused_rope_forward"] = table["fused_rope_backward"] = rope
    for name in ("multi_tensor_scale", "multi_tensor_adam", "multi_tensor_adam_param_remainder",
                 "multi_tensor_adam_capturable", "multi_tensor_adam_capturable_master"):
        table[name] = nothing
    table["multi_tensor_unscale_l2norm"] = lambda chunk, flag, lists, scale, *rest: multi_tensor_l2norm(
        chunk, flag, lists, *rest)
    table["get_cublasLt_version"] = lambda: 130000
    table["get_cudnn_version"] = torch.backends.cudnn.version
    table["get_num_cublas_streams"] = lambda: 4
    table["device_supports_multicast"] = table["ubuf_built_with_mpi"] = lambda *_: False
    return table


class Extension(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*_, **__):
            raise NotImplementedError("transformer_engine_torch.%s is not written out in te_by_hand.py" % name)

        return refuse


def extension_add():
    """`import transformer_engine.pytorch` finds this in place of the compiled extension."""
    module = Extension("transformer_engine_torch")
    module.__dict__.update(ENUMS)
    for name in CLASSES.split():
        module.__dict__[name] = type(name, (), {})
    module.__dict__.update(functions())
    sys.modules[module.__name__] = module
    import transformer_engine.common as common
    common.load_framework_extension = lambda framework: None
