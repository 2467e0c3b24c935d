/*
 * engine/device/cuda/cuda_views.cuh - strided views on the device: offsets of elements, conversion from and to every
 * dtype.
 *
 * For:            the kernels of this folder.
 * Must not know:  what is computed.
 * Invariant:      a struct cuda_view is a plain value that a launch copies to the device; no pointer in it points to
 *                 the host.
 *
 * Operands may be on the host (a number, a tensor that was never moved): struct cuda_call copies them to the device,
 * and results back.
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
    /* for an operand that is a single number on the host: data is NULL */
    int64_t value_i;
    double value_f;
    uint8_t dtype;
    int8_t ndim;
    bool is_plain; /* contiguous, row-major */
};

/* As in cpu_half.h, with the GPU's own instructions where it has them. */
VS_GPU static inline float cuda_of_f16(uint16_t h)
{
#ifdef __CUDA_ARCH__
    float f;

    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
#else
    return cpu_f16_to_f32(h);
#endif
}

VS_GPU static inline uint16_t cuda_to_f16(float f)
{
#ifdef __CUDA_ARCH__
    uint16_t h;

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#else
    return cpu_f32_to_f16(f);
#endif
}

VS_GPU static inline float cuda_of_bf16(uint16_t h)
{
    return cpu_bf16_to_f32(h);
}

VS_GPU static inline uint16_t cuda_to_bf16(float f)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint16_t h;

    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#else
    return cpu_f32_to_bf16(f);
#endif
}

static inline int64_t cuda_numel(const struct eng_view *v)
{
    int64_t n = 1;

    for (int d = 0; d < v->ndim; d++)
        n *= v->sizes[d];
    return n;
}

/* Offset, in elements from data, of element `index` in row-major order. */
VS_GPU static inline int64_t cuda_place(const cuda_view &v, int64_t index)
{
    int64_t at = 0;

    if (v.is_plain)
        return index;
    if (index < INT32_MAX) { /* 32-bit divisions are several times as fast */
        uint32_t rest = (uint32_t)index;

        for (int d = v.ndim - 1; d > 0; d--) {
            /*
             * index is less than a dim that is truncated here, so the remainder is right in either case
             */
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

/*
 * Division by a number that is known at the launch: a multiplication if both numbers fit in 32 bits.
 */
struct cuda_divisor {
    int64_t by;
    uint64_t magic; /* 2^64/by, rounded up; 0 if it is not used */
};

static inline cuda_divisor cuda_divisor_of(int64_t by)
{
    cuda_divisor d = {by, by > 1 && by <= INT32_MAX ? UINT64_MAX / (uint64_t)by + 1 : 0};

    return d;
}

VS_GPU static inline int64_t cuda_divide(const cuda_divisor &d, int64_t i)
{
    if (d.magic && i <= INT32_MAX) {
#ifdef __CUDA_ARCH__
        return (int64_t)__umul64hi(d.magic, (uint64_t)i);
#else
        uint64_t lo = (d.magic & 0xffffffffu) * (uint64_t)i;

        return (int64_t)(((d.magic >> 32) * (uint64_t)i + (lo >> 32)) >> 32);
#endif
    }
    return d.by == 1 ? i : i / d.by;
}

/* As x86 converts: NaN and values that do not fit become the smallest integer. */
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

/* The element at `at`, converted to T: float, double or int64_t. Float to integer truncates. */
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
        return (T)cuda_of_f16(((const uint16_t *)p)[at]);
    case VS_BF16:
        return (T)cuda_of_bf16(((const uint16_t *)p)[at]);
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

/*
 * Stores an element. Float is rounded once, to nearest even (double to f16 and bf16 goes through float); float to
 * integer truncates; anything to bool is != 0.
 */
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
        ((uint16_t *)p)[at] = cuda_to_f16((float)value);
        break;
    case VS_BF16:
        ((uint16_t *)p)[at] = cuda_to_bf16((float)value);
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

/*
 * The same if all operands of a kernel have one dtype that is known at compile time, so that no element needs a
 * switch. E is the storage type of an element: cuda_f32, cuda_f16, cuda_bf16, or cuda_any, whose dtype is that of the
 * view.
 */
struct cuda_any {
    template <class T> VS_GPU static T get(const cuda_view &v, int64_t at)
    {
        return cuda_get<T>(v, at);
    }
    template <class T> VS_GPU static void put(const cuda_view &v, int64_t at, T value)
    {
        cuda_put<T>(v, at, value);
    }
};

struct cuda_f32 {
    template <class T> VS_GPU static T get(const cuda_view &v, int64_t at)
    {
        return (T)((const float *)v.data)[at];
    }
    template <class T> VS_GPU static void put(const cuda_view &v, int64_t at, T value)
    {
        ((float *)v.data)[at] = (float)value;
    }
};

struct cuda_f16 {
    template <class T> VS_GPU static T get(const cuda_view &v, int64_t at)
    {
        return (T)cuda_of_f16(((const uint16_t *)v.data)[at]);
    }
    template <class T> VS_GPU static void put(const cuda_view &v, int64_t at, T value)
    {
        ((uint16_t *)v.data)[at] = cuda_to_f16((float)value);
    }
};

struct cuda_bf16 {
    template <class T> VS_GPU static T get(const cuda_view &v, int64_t at)
    {
        return (T)cuda_of_bf16(((const uint16_t *)v.data)[at]);
    }
    template <class T> VS_GPU static void put(const cuda_view &v, int64_t at, T value)
    {
        ((uint16_t *)v.data)[at] = cuda_to_bf16((float)value);
    }
};

/* The dtype of all views that are present; VS_DTYPE_COUNT if they differ or one is a number. */
static inline int cuda_common(const cuda_view *const *views, int count)
{
    int dtype = -1;

    for (int i = 0; i < count; i++) {
        if (views[i]->ndim < 0)
            continue;
        if (!views[i]->data || (dtype >= 0 && dtype != views[i]->dtype))
            return VS_DTYPE_COUNT;
        dtype = views[i]->dtype;
    }
    return dtype < 0 ? (int)VS_DTYPE_COUNT : dtype;
}

/*
 * Expands to `statement` with E for a dtype that is computed in float, and with T. f64 uses cuda_any: arithmetic
 * dominates its cost.
 */
#define CUDA_FOR_CELL(dtype, kind, statement)                                                      \
    if ((kind) == CUDA_DOUBLE) {                                                                   \
        typedef double T;                                                                          \
        typedef cuda_any E;                                                                        \
        statement;                                                                                 \
    } else {                                                                                       \
        typedef float T;                                                                           \
        if ((dtype) == VS_F32) {                                                                   \
            typedef cuda_f32 E;                                                                    \
            statement;                                                                             \
        } else if ((dtype) == VS_F16) {                                                            \
            typedef cuda_f16 E;                                                                    \
            statement;                                                                             \
        } else if ((dtype) == VS_BF16) {                                                           \
            typedef cuda_bf16 E;                                                                   \
            statement;                                                                             \
        } else {                                                                                   \
            typedef cuda_any E;                                                                    \
            statement;                                                                             \
        }                                                                                          \
    }

template <class T> VS_GPU static inline T cuda_at(const cuda_view &v, int64_t index)
{
    return cuda_get<T>(v, cuda_place(v, index));
}

template <class T> VS_GPU static inline void cuda_set(const cuda_view &v, int64_t index, T value)
{
    cuda_put<T>(v, cuda_place(v, index), value);
}

/*
 * The type of computation for a dtype: double for f64, float for the other floating dtypes, else int64_t.
 */
enum cuda_kind { CUDA_FLOAT, CUDA_DOUBLE, CUDA_WHOLE };

static inline cuda_kind cuda_kind_of(enum vs_dtype dtype)
{
    if (dtype == VS_F64)
        return CUDA_DOUBLE;
    return vs_dtype_is_floating(dtype) ? CUDA_FLOAT : CUDA_WHOLE;
}

/*
 * Expands to `statement` with the type of computation: CUDA_FOR(kind, call<T>(…)), T one of the three.
 */
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
 * The operands of one call of a kernel, available on the device. Operands on the host are copied to scratch (a single
 * number is passed with the launch). The destructor copies results that belong on the host back and frees the
 * scratch.
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
     * Adds an operand that is read; NULL gives a view with -1 dims and no data. Elements are addressed by their
     * row-major index; with keep_dims the view has the sizes and strides of `v`, so that they can also be addressed
     * by the index in each dim.
     */
    cuda_view in(const struct eng_view *v, bool keep_dims = false);
    /* Adds an operand that is written, or read and written. */
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

/* Whether all operands (except NULL) are on the host: then the host's kernel does the work. */
static inline bool cuda_all_host(const struct eng_view *a, const struct eng_view *b = NULL,
                                 const struct eng_view *c = NULL, const struct eng_view *d = NULL)
{
    const struct eng_view *list[] = {a, b, c, d};

    for (int i = 0; i < 4; i++)
        if (list[i] && cuda_is_device(list[i]->data))
            return false;
    return true;
}

/* Number of elements in the dims whose bit is set in `mask`. */
static inline int64_t cuda_count(const struct eng_view *v, uint32_t mask)
{
    int64_t n = 1;

    for (int d = 0; d < v->ndim; d++)
        if (mask >> d & 1u)
            n *= v->sizes[d];
    return n;
}

/*
 * The offset in v for views that kept their dims: `index` counts row-major through the dims of `mask` of `shape`.
 */
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

/*
 * Lines along `dim`: how many, their length, the stride of their elements. A view without dims is one line of one
 * element.
 */
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
