/*
 * engine/device/cuda/cuda_lanes.cuh - how elementwise kernels read, compute and write several neighbouring elements
 * in a thread.
 *
 * For:            kernels_elementwise.cu, kernels_many.cu.
 * Must not know:  launches.
 * Invariant:      a thread reads its elements before it writes them, so every call may be in place.
 *
 * Contiguous neighbours are read by one instruction of up to 16 bytes, and the switches over dtype and op are
 * evaluated once for all of them.
 */
#ifndef ENG_DEVICE_CUDA_LANES_CUH
#define ENG_DEVICE_CUDA_LANES_CUH

#include "engine/device/cuda/cuda_rows.cuh"
#include "engine/device/cuda/cuda_views.cuh"

/*
 * Elements of a thread: several for computations in float; other types are rare and take long to compile.
 */
template <class T> struct cuda_width {
    enum { n = 1 };
};
template <> struct cuda_width<float> {
    enum { n = 4 };
};
#define PACK ((int)cuda_width<T>::n)

template <class U, int N> struct alignas(N * sizeof(U)) cuda_pack {
    U v[N];
};

/* How the neighbours of a pack are stored: anywhere, contiguously, or all as one element. */
enum cuda_lie { LIE_APART, LIE_TOGETHER, LIE_ONE };

struct cuda_lanes {
    cuda_view v;
    int lie;
    int round_to; /* the dtype to which operands must be rounded first; else VS_DTYPE_COUNT */
};

/* Whether every pack begins at a multiple of PACK elements, in memory too. */
template <class T> static inline int cuda_lie_of(const cuda_view &v)
{
    int last = v.ndim - 1;

    if (!v.data || v.ndim <= 0)
        return LIE_ONE;
    if (v.strides[last] > 1)
        return LIE_APART;
    if (last > 0 && v.sizes[last] % PACK != 0)
        return LIE_APART;
    if (v.strides[last] == 0)
        return LIE_ONE;
    for (int d = 0; d < last; d++)
        if (v.strides[d] % PACK != 0)
            return LIE_APART;
    return (uintptr_t)v.data % (PACK * vs_dtype_bytes((enum vs_dtype)v.dtype)) == 0 ? LIE_TOGETHER
                                                                                    : LIE_APART;
}

template <class U, class T>
VS_GPU static inline void cuda_unpack(const char *data, int64_t at, T *out)
{
    cuda_pack<U, PACK> p = *(const cuda_pack<U, PACK> *)((const U *)data + at);

    for (int k = 0; k < PACK; k++)
        out[k] = (T)p.v[k];
}

template <class T>
VS_GPU static inline void cuda_load_together(const cuda_view &v, int64_t at, T *out)
{
    switch ((enum vs_dtype)v.dtype) {
    case VS_F32:
        cuda_unpack<float>(v.data, at, out);
        return;
    case VS_F64:
        cuda_unpack<double>(v.data, at, out);
        return;
    case VS_F16: {
        cuda_pack<uint16_t, PACK> p =
            *(const cuda_pack<uint16_t, PACK> *)((const uint16_t *)v.data + at);

        for (int k = 0; k < PACK; k++)
            out[k] = (T)cuda_of_f16(p.v[k]);
        return;
    }
    case VS_BF16: {
        cuda_pack<uint16_t, PACK> p =
            *(const cuda_pack<uint16_t, PACK> *)((const uint16_t *)v.data + at);

        for (int k = 0; k < PACK; k++)
            out[k] = (T)cuda_of_bf16(p.v[k]);
        return;
    }
    case VS_I64:
        cuda_unpack<int64_t>(v.data, at, out);
        return;
    case VS_I32:
        cuda_unpack<int32_t>(v.data, at, out);
        return;
    case VS_U8:
        cuda_unpack<uint8_t>(v.data, at, out);
        return;
    case VS_BOOL: {
        cuda_pack<uint8_t, PACK> p =
            *(const cuda_pack<uint8_t, PACK> *)((const uint8_t *)v.data + at);

        for (int k = 0; k < PACK; k++)
            out[k] = (T)(p.v[k] != 0);
        return;
    }
    case VS_DTYPE_COUNT:
        break;
    }
}

/*
 * An element as the op computes with it: rounded to f16 or bf16 if the op computes in that dtype and the element has
 * another.
 */
template <class T> VS_GPU static inline T cuda_rounded(T x, int round_to)
{
    if (round_to == VS_F16)
        return (T)cuda_of_f16(cuda_to_f16((float)x));
    if (round_to == VS_BF16)
        return (T)cuda_of_bf16(cuda_to_bf16((float)x));
    return x;
}

/*
 * Reads elements first … first+count-1; first is a multiple of PACK. Missing elements of the pack repeat the first
 * one.
 */
template <class T>
VS_GPU static inline void cuda_load(const cuda_lanes &l, int64_t first, int count, T *out)
{
    if (l.lie == LIE_ONE) {
        T x = cuda_at<T>(l.v, first);

        for (int k = 0; k < PACK; k++)
            out[k] = x;
    } else if (l.lie == LIE_TOGETHER && count == PACK) {
        cuda_load_together<T>(l.v, cuda_place(l.v, first), out);
    } else {
        for (int k = 0; k < PACK; k++)
            out[k] = cuda_at<T>(l.v, k < count ? first + k : first);
    }
    if (l.round_to != VS_DTYPE_COUNT)
        for (int k = 0; k < PACK; k++)
            out[k] = cuda_rounded(out[k], l.round_to);
}

template <class T>
VS_GPU static inline void cuda_store(const cuda_lanes &l, int64_t first, int count, const T *y)
{
    int64_t at;

    if (l.lie != LIE_TOGETHER || count < PACK) {
        for (int k = 0; k < PACK; k++)
            if (k < count)
                cuda_set<T>(l.v, first + k, y[k]);
        return;
    }
    at = cuda_place(l.v, first);
    if (l.v.dtype == VS_F32) {
        cuda_pack<float, PACK> p;

        for (int k = 0; k < PACK; k++)
            p.v[k] = (float)y[k];
        *(cuda_pack<float, PACK> *)((float *)l.v.data + at) = p;
    } else if (l.v.dtype == VS_F16 || l.v.dtype == VS_BF16) {
        cuda_pack<uint16_t, PACK> p;

        for (int k = 0; k < PACK; k++)
            p.v[k] = l.v.dtype == VS_F16 ? cuda_to_f16((float)y[k]) : cuda_to_bf16((float)y[k]);
        *(cuda_pack<uint16_t, PACK> *)((uint16_t *)l.v.data + at) = p;
    } else if (l.v.dtype == VS_BOOL) {
        cuda_pack<uint8_t, PACK> p;

        for (int k = 0; k < PACK; k++)
            p.v[k] = y[k] != (T)0;
        *(cuda_pack<uint8_t, PACK> *)((uint8_t *)l.v.data + at) = p;
    } else {
        for (int k = 0; k < PACK; k++)
            cuda_put<T>(l.v, at + k, y[k]);
    }
}

template <class T>
static inline cuda_lanes cuda_lanes_of(const cuda_view &v, int round_to = VS_DTYPE_COUNT)
{
    cuda_lanes l = {v, cuda_lie_of<T>(v), round_to};

    return l;
}

/* The dtype to which an operand of `dtype` is rounded; VS_DTYPE_COUNT if it is not. */
static inline int cuda_rounding(enum vs_dtype compute, enum vs_dtype dtype)
{
    return (compute == VS_F16 || compute == VS_BF16) && dtype != compute && dtype != VS_BOOL
               ? (int)compute
               : (int)VS_DTYPE_COUNT;
}

struct params {
    double p[4];
    bool is_given;
};

static inline params params_of(const double *p, int count)
{
    params out = {{0, 0, 0, 0}, p != NULL};

    for (int i = 0; p && i < count; i++)
        out.p[i] = p[i];
    return out;
}

/* The elements of a thread; all threads take the same branch of the switch over the op. */
#define ROWS(REAL, NAME)                                                                           \
    VS_GPU static inline void cuda_unary_row(int op, const REAL *x, REAL *y, const double *p)      \
    {                                                                                              \
        unary_##NAME((enum eng_unary)op, (int)cuda_width<REAL>::n, x, y, p);                       \
    }                                                                                              \
    VS_GPU static inline void cuda_binary_row(int op, const REAL *a, const REAL *b, REAL *y,       \
                                              const double *p)                                     \
    {                                                                                              \
        binary_##NAME((enum eng_binary)op, (int)cuda_width<REAL>::n, a, b, y, p);                  \
    }                                                                                              \
    VS_GPU static inline void cuda_ternary_row(int op, const REAL *a, const REAL *b,               \
                                               const REAL *c, REAL *y, const double *p)            \
    {                                                                                              \
        ternary_##NAME((enum eng_ternary)op, (int)cuda_width<REAL>::n, a, b, c, y, p);             \
    }
ROWS(float, f32)
ROWS(double, f64)
ROWS(int64_t, i64)
#undef ROWS

#endif
