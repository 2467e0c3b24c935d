/*
 * engine/device/workspace_sizes.h - how much scratch the GPU kernels need, as functions of sizes alone.
 *
 * For:            the kernels of engine/device/cuda, which use the scratch, and engine/workspace/workspace.c, which
 *                 allocates it (in runs without data, too).
 * Must not know:  tensors, the allocator.
 * Invariant:      a kernel uses exactly what the function here returns: kernel and allocation call the same function.
 */
#ifndef ENG_DEVICE_WORKSPACE_SIZES_H
#define ENG_DEVICE_WORKSPACE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/device/kernels.h"

#define ENG_WORKSPACE_ALIGN UINT64_C(256)
#define ENG_WORKSPACE_CHUNK                                                                        \
    (INT64_C(64) << 20) /* approximate limit for the scratch of a kernel that works in chunks */

/* Size of one part of a scratch buffer that has several parts: rounded up for alignment. */
static inline uint64_t eng_workspace_part(uint64_t bytes)
{
    return (bytes + ENG_WORKSPACE_ALIGN - 1) / ENG_WORKSPACE_ALIGN * ENG_WORKSPACE_ALIGN;
}

/*
 * How many of `count` items with item_bytes of scratch each are processed at a time: at least one.
 */
static inline int64_t eng_workspace_at_a_time(int64_t count, int64_t item_bytes)
{
    int64_t most = ENG_WORKSPACE_CHUNK / (item_bytes > 0 ? item_bytes : 1);

    return most < 1 ? 1 : most < count ? most : count;
}

static inline int64_t eng_workspace_numel(const struct eng_view *v)
{
    int64_t n = 1;

    for (int d = 0; d < v->ndim; d++)
        n *= v->sizes[d];
    return n;
}

/* Whether v has four dims and is contiguous. */
static inline bool eng_workspace_is_plain(const struct eng_view *v)
{
    int64_t n = 1;

    for (int d = 3; d >= 0; d--) {
        if (v->sizes[d] != 1 && v->strides[d] != n)
            return false;
        n *= v->sizes[d];
    }
    return true;
}

/* Bytes of the type in which kernels compute. */
static inline int64_t eng_workspace_real(enum vs_dtype dtype)
{
    return dtype == VS_F64 ? 8 : 4;
}

/* ---- reductions ---- */

enum { ENG_REDUCE_ALONE = 32 }; /* up to this number of elements one thread reduces them */
/* elements of a piece when several teams of threads share an output */
enum { ENG_REDUCE_PIECE = 16384 };
enum { ENG_REDUCE_FEW = 64 }; /* with at least this many outputs each has one team */
#define ENG_REDUCE_PIECES INT64_C(1024)

/*
 * The number of pieces into which each of `outputs` reductions of n elements is divided; 0: it is not divided.
 */
static inline int64_t eng_workspace_reduce_pieces(int op, int64_t outputs, int64_t n)
{
    int64_t pieces = (n + ENG_REDUCE_PIECE - 1) / ENG_REDUCE_PIECE;

    if (n <= ENG_REDUCE_ALONE || outputs >= ENG_REDUCE_FEW || pieces < 2 || op == ENG_R_VAR ||
        op == ENG_R_STD || op == ENG_R_LOGSUMEXP)
        return 0;
    return pieces < ENG_REDUCE_PIECES ? pieces : ENG_REDUCE_PIECES;
}

static inline uint64_t eng_workspace_reduce(int op, const struct eng_view *x,
                                            const struct eng_view *out)
{
    int64_t outputs = eng_workspace_numel(out);
    int64_t pieces =
        outputs ? eng_workspace_reduce_pieces(op, outputs, eng_workspace_numel(x) / outputs) : 0;

    return (uint64_t)(outputs * pieces) * 8;
}

/* ---- sort, embedding ---- */

/* Value and index of each element, twice. */
static inline uint64_t eng_workspace_sort(const struct eng_view *x)
{
    return (uint64_t)eng_workspace_numel(x) * 2 * 16;
}

/* The indices in order of their rows, and for each whether it is the first of its row. */
static inline uint64_t eng_workspace_embedding_backward(int64_t indices)
{
    return eng_workspace_part((uint64_t)indices * 8) + eng_workspace_part((uint64_t)indices);
}

/* ---- attention: q [B,H,L,D], k [B,Hk,S,D] ---- */

/*
 * Additional bytes of a probability in the type that matrix products take: half types are rounded to a copy; others
 * need none.
 */
static inline int64_t eng_workspace_half(enum vs_dtype dtype)
{
    return dtype == VS_F16 || dtype == VS_BF16 ? 2 : 0;
}

/* How many queries are processed at a time. */
static inline int64_t eng_workspace_sdpa_rows(const struct eng_view *q, const struct eng_view *k)
{
    int64_t row = k->sizes[2] * (eng_workspace_real(q->dtype) + eng_workspace_half(q->dtype));

    return eng_workspace_at_a_time(q->sizes[0] * q->sizes[1] * q->sizes[2], row);
}

/* Scores of these queries, and their copy for the matrix products. */
static inline uint64_t eng_workspace_sdpa(const struct eng_view *q, const struct eng_view *k)
{
    int64_t rows = q->sizes[0] * q->sizes[1] * q->sizes[2];
    int64_t scores = rows ? eng_workspace_sdpa_rows(q, k) * k->sizes[2] : 0;

    return eng_workspace_part((uint64_t)(scores * eng_workspace_real(q->dtype))) +
           eng_workspace_part((uint64_t)(scores * eng_workspace_half(q->dtype)));
}

/* Number of scores of one key head: all queries that share it, times all its keys. */
static inline int64_t eng_workspace_sdpa_head(const struct eng_view *q, const struct eng_view *k)
{
    return k->sizes[1] ? q->sizes[1] / k->sizes[1] * q->sizes[2] * k->sizes[2] : 0;
}

/* How many key heads are processed at a time. */
static inline int64_t eng_workspace_sdpa_heads(const struct eng_view *q, const struct eng_view *k)
{
    int64_t bytes = 2 * (eng_workspace_real(q->dtype) + eng_workspace_half(q->dtype));

    return eng_workspace_at_a_time(k->sizes[0] * k->sizes[1],
                                   bytes * eng_workspace_sdpa_head(q, k));
}

/*
 * Probabilities and their gradients for these heads, and the copies of both for the matrix products.
 */
static inline uint64_t eng_workspace_sdpa_backward(const struct eng_view *q,
                                                   const struct eng_view *k)
{
    uint64_t scores = (uint64_t)(eng_workspace_sdpa_heads(q, k) * eng_workspace_sdpa_head(q, k));

    return 2 * eng_workspace_part(scores * (uint64_t)eng_workspace_real(q->dtype)) +
           2 * eng_workspace_part(scores * (uint64_t)eng_workspace_half(q->dtype));
}

/* ---- matrix products: three dims ---- */

/*
 * Whether the library of matrix products can take v as it is: contiguous rows or else contiguous columns
 * (*is_across), `lead` elements apart. The library's integers have 32 bits.
 */
static inline bool eng_workspace_lies(const struct eng_view *v, int64_t *lead, bool *is_across)
{
    int64_t rows = v->sizes[1];
    int64_t cols = v->sizes[2];
    int64_t down = v->strides[1];
    int64_t across = v->strides[2];

    *is_across = false;
    if ((across == 1 || cols == 1) && (rows == 1 || down >= cols)) {
        *lead = rows == 1 ? cols : down;
    } else if ((down == 1 || rows == 1) && (cols == 1 || across >= rows)) {
        *lead = cols == 1 ? rows : across;
        *is_across = true;
    } else {
        return false;
    }
    *lead = *lead > 1 ? *lead : 1;
    return *lead <= INT32_MAX;
}

/* Bytes of a contiguous copy of v, if the library cannot take v as it is; else 0. */
static inline uint64_t eng_workspace_operand(const struct eng_view *v)
{
    int64_t lead;
    bool is_across;

    if (eng_workspace_lies(v, &lead, &is_across))
        return 0;
    return eng_workspace_part((uint64_t)eng_workspace_numel(v) * vs_dtype_bytes(v->dtype));
}

static inline uint64_t eng_workspace_matmul(const struct eng_view *a, const struct eng_view *b,
                                            const struct eng_view *c)
{
    if (!eng_workspace_numel(c) || !a->sizes[2])
        return 0;
    return eng_workspace_operand(a) + eng_workspace_operand(b) + eng_workspace_operand(c);
}

#endif
