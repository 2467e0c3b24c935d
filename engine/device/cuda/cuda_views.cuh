/*
 * engine/device/cuda/cuda_views.cuh - strided views on the device: places of elements, conversion from and to every dtype.
 *
 * For:            the kernels of this folder.
 * Must not know:  what is computed.
 * Invariant:      a struct cuda_view is a plain value that a launch copies to the device; nothing in it points to the host.
 *
 * Operands may lie on the host (a number, a tensor that was never moved): struct cuda_call brings them over and takes results back.
 */
#ifndef ENG_DEVICE_CUDA_VIEWS_CUH
#define ENG_DEVICE_CUDA_VIEWS_CUH

#include <string.h>

#include "engine/device/cpu/cpu_half.h"
#include "engine/device/cuda/cuda_launch.cuh"

struct cuda_view {
    char *data;
    int64_t sizes[VS_MAX_DIMS];
    int64_t strides[VS_MAX_DIMS]; /* elements */
    int64_t value_i;              /* of an operand that is one number of the host's: data is NULL */
    double value_f;
    uint8_t dtype;
    int8_t ndim;
    bool is_plain; /* contiguous, row-major */
};

static inline int64_t cuda_numel(const struct eng_view *v)
{
    int64_t n = 1;

    for (int d = 0; d < v->ndim; d++)
        n *= v->sizes[d];
    return n;
}

/* Where element `index`, counted row-major, lies: elements from data. */
VS_GPU static inline int64_t cuda_place(const cuda_view &v, int64_t index)
{
    int64_t at = 0;

    if (v.is_plain)
        return index;
    if (index < INT32_MAX) { /* 32-bit divisions are several times as fast */
        uint32_t rest = (uint32_t)index;

        for (int d = v.ndim - 1; d > 0; d--) {
            /* index is less than a dim that is cut off here: it is what remains either way */
            uint32_t size = (uint32_t)(v.sizes[d] < INT32_MAX ? v.sizes[d] : INT32_MAX);
            uint32_t up = rest / size;

            at += (int64_t)(rest - up * size) * v.strides[d];
            rest = up;
        }
        return v.ndim > 0 ? at + (int64_t)rest * v.strides[0] : at;
    }
    for (int d = v.ndim - 1; d > 0; d--) {
        at += index % v.sizes[d] * v.strides[d];
        index /= v.sizes[d];
    }
    return v.ndim > 0 ? at + index * v.strides[0] : at;
}

/* As x86 converts: what does not fit is the smallest integer; so is NaN. */
VS_GPU static inline int64_t cuda_whole(double v)
{
    return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
}
VS_GPU static inline int64_t cuda_whole(float v)
{
    return cuda_whole((double)v);
}
VS_GPU static inline int64_t cuda_whole(int64_t v)
{
    return v;
}

VS_GPU static inline int32_t cuda_whole32(double v)
{
    return v > -2147483649.0 && v < 2147483648.0 ? (int32_t)v : INT32_MIN;
}
VS_GPU static inline int32_t cuda_whole32(float v)
{
    return cuda_whole32((double)v);
}
VS_GPU static inline int32_t cuda_whole32(int64_t v)
{
    return (int32_t)v;
}

/* The element at `at`, as T: float, double or int64_t. Float to integer truncates. */
template <class T> VS_GPU static inline T cuda_get(const cuda_view &v, int64_t at)
{
    const char *p = v.data;

    if (!p)
        return v.dtype == VS_F64 ? (T)v.value_f : (T)v.value_i;
    switch ((enum vs_dtype)v.dtype) {
    case VS_F32:
        return (T)((const float *)p)[at];
    case VS_F64:
        return (T)((const double *)p)[at];
    case VS_F16:
        return (T)cpu_f16_to_f32(((const uint16_t *)p)[at]);
    case VS_BF16:
        return (T)cpu_bf16_to_f32(((const uint16_t *)p)[at]);
    case VS_I64:
        return (T)((const int64_t *)p)[at];
    case VS_I32:
        return (T)((const int32_t *)p)[at];
    case VS_U8:
        return (T)((const uint8_t *)p)[at];
    case VS_BOOL:
        return (T)(((const uint8_t *)p)[at] != 0);
    case VS_DTYPE_COUNT:
        break;
    }
    return (T)0;
}

/* Float rounds once, to nearest even, double to f16 and bf16 through float; float to integer truncates, anything to bool is != 0. */
template <class T> VS_GPU static inline void cuda_put(const cuda_view &v, int64_t at, T value)
{
    char *p = v.data;

    switch ((enum vs_dtype)v.dtype) {
    case VS_F32:
        ((float *)p)[at] = (float)value;
        break;
    case VS_F64:
        ((double *)p)[at] = (double)value;
        break;
    case VS_F16:
        ((uint16_t *)p)[at] = cpu_f32_to_f16((float)value);
        break;
    case VS_BF16:
        ((uint16_t *)p)[at] = cpu_f32_to_bf16((float)value);
        break;
    case VS_I64:
        ((int64_t *)p)[at] = cuda_whole(value);
        break;
    case VS_I32:
        ((int32_t *)p)[at] = cuda_whole32(value);
        break;
    case VS_U8:
        ((uint8_t *)p)[at] = (uint8_t)cuda_whole(value);
        break;
    case VS_BOOL:
        ((uint8_t *)p)[at] = value != (T)0;
        break;
    case VS_DTYPE_COUNT:
        break;
    }
}

template <class T> VS_GPU static inline T cuda_at(const cuda_view &v, int64_t index)
{
    return cuda_get<T>(v, cuda_place(v, index));
}

template <class T> VS_GPU static inline void cuda_set(const cuda_view &v, int64_t index, T value)
{
    cuda_put<T>(v, cuda_place(v, index), value);
}

/* The arithmetic of a dtype: double for f64, float for the other floating ones, else int64_t. */
enum cuda_kind { CUDA_FLOAT, CUDA_DOUBLE, CUDA_WHOLE };

static inline cuda_kind cuda_kind_of(enum vs_dtype dtype)
{
    if (dtype == VS_F64)
        return CUDA_DOUBLE;
    return vs_dtype_is_floating(dtype) ? CUDA_FLOAT : CUDA_WHOLE;
}

/* f<T>() for the arithmetic of a dtype: CUDA_FOR(kind, call<T>(…)) with T one of the three. */
#define CUDA_FOR(kind, statement)                                                                  \
    switch (kind) {                                                                                \
    case CUDA_FLOAT: {                                                                             \
        typedef float T;                                                                           \
        statement;                                                                                 \
        break;                                                                                     \
    }                                                                                              \
    case CUDA_DOUBLE: {                                                                            \
        typedef double T;                                                                          \
        statement;                                                                                 \
        break;                                                                                     \
    }                                                                                              \
    case CUDA_WHOLE: {                                                                             \
        typedef int64_t T;                                                                         \
        statement;                                                                                 \
        break;                                                                                     \
    }                                                                                              \
    }
#define CUDA_FOR_REAL(kind, statement)                                                             \
    if ((kind) == CUDA_DOUBLE) {                                                                   \
        typedef double T;                                                                          \
        statement;                                                                                 \
    } else {                                                                                       \
        typedef float T;                                                                           \
        statement;                                                                                 \
    }

/*
 * The operands of one call of a kernel, brought to the device. Operands on the host are copied to scratch (a single number travels
 * with the launch); results that belong on the host are copied back when the object goes, and scratch is given back.
 */
class cuda_call
{
  public:
    cuda_call() : backs(0)
    {
        cuda_scratch_begin();
    }
    ~cuda_call();
    cuda_call(const cuda_call &) = delete;
    cuda_call &operator=(const cuda_call &) = delete;

    /*
     * An operand that is read; NULL gives a view of -1 dims without data. Its elements are found by their row-major index; with keep_dims also by
     * the index in each dim, as sizes and strides then are those of `v`.
     */
    cuda_view in(const struct eng_view *v, bool keep_dims = false);
    /* One that is written, or read and written. */
    cuda_view out(const struct eng_view *v, bool keep_dims = false);

  private:
    struct back {
        void *host;
        const void *device;
        uint64_t bytes;
    };
    back list[8];
    int backs;
};

/* Do all operands (NULLs aside) lie on the host? Then the host's kernel does the work. */
static inline bool cuda_all_host(const struct eng_view *a, const struct eng_view *b = NULL,
                                 const struct eng_view *c = NULL, const struct eng_view *d = NULL)
{
    const struct eng_view *list[] = {a, b, c, d};

    for (int i = 0; i < 4; i++)
        if (list[i] && cuda_is_device(list[i]->data))
            return false;
    return true;
}

/* Elements of the dims whose bit is set in `mask`. */
static inline int64_t cuda_count(const struct eng_view *v, uint32_t mask)
{
    int64_t n = 1;

    for (int d = 0; d < v->ndim; d++)
        if (mask >> d & 1u)
            n *= v->sizes[d];
    return n;
}

/* The same for views that kept their dims: `index` counts row-major through the dims of `mask` of `shape`; the place is one in v. */
VS_GPU static inline int64_t cuda_place_in(const cuda_view &shape, const cuda_view &v,
                                           uint32_t mask, int64_t index)
{
    int64_t at = 0;

    for (int d = shape.ndim - 1; d >= 0; d--) {
        if (!(mask >> d & 1u))
            continue;
        at += index % shape.sizes[d] * v.strides[d];
        index /= shape.sizes[d];
    }
    return at;
}

/* Lines along `dim`: how many, how long, how far apart their elements. A view without dims is one line of one element. */
static inline uint32_t cuda_across(const struct eng_view *v, int dim)
{
    return v->ndim == 0 ? 0 : ((1u << v->ndim) - 1u) & ~(1u << dim);
}
static inline int64_t cuda_length(const struct eng_view *v, int dim)
{
    return v->ndim == 0 ? 1 : v->sizes[dim];
}
static inline int64_t cuda_step(const struct eng_view *v, int dim)
{
    return v->ndim == 0 ? 0 : v->strides[dim];
}

#endif
