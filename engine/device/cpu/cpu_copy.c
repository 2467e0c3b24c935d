/*
 * engine/device/cpu/cpu_copy.c - copying between views, with conversion of dtypes; filling; reading one element.
 *
 * For:            the table of kernels (cpu.c); kernels that need a contiguous or converted operand.
 * Must not know:  what the values mean.
 * Invariant:      a copy between equal dtypes moves bytes, so it keeps NaN payloads and -0.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_iter.h"
#include "engine/device/cpu/cpu_kernels.h"

#define PIECE 65536 /* elements of a task */
#define TILE 64     /* side of a transposed block */

struct copy {
    const struct cpu_num *num; /* what values go through; NULL: bytes */
    enum vs_dtype from;
    enum vs_dtype to;
    size_t size;
};

/* Loops of one element size: n elements from s to d. */
#define MOVE(T)                                                                                    \
    for (int64_t i = 0; i < n; i++)                                                                \
        *(T *)(void *)(d + i * ds) = *(const T *)(const void *)(s + i * ss);                       \
    break

static void move_row(size_t size, int64_t n, const char *s, int64_t ss, char *d, int64_t ds)
{
    if (ss == (int64_t)size && ds == (int64_t)size) {
        memcpy(d, s, (size_t)n * size);
        return;
    }
    switch (size) {
    case 1:
        MOVE(uint8_t);
    case 2:
        MOVE(uint16_t);
    case 4:
        MOVE(uint32_t);
    default:
        MOVE(uint64_t);
    }
}
#undef MOVE

static void copy_row(void *ctx, int64_t index, int64_t n, char *const *data, const int64_t *strides)
{
    const struct copy *c = ctx;
    int64_t buf[CPU_CHUNK];

    (void)index;
    if (!c->num) {
        move_row(c->size, n, data[1], strides[1], data[0], strides[0]);
        return;
    }
    for (int64_t at = 0; at < n; at += CPU_CHUNK) {
        int64_t m = cpu_min(CPU_CHUNK, n - at);
        const void *v = cpu_read(c->num, c->from, data[1] + at * strides[1], strides[1], m, buf);

        c->num->store(v, m, c->to, data[0] + at * strides[0], strides[0]);
    }
}

/* The type that values pass through: none loses more than the destination does, and double to f16 rounds as PyTorch. */
static const struct cpu_num *via(enum vs_dtype from, enum vs_dtype to)
{
    if (from == to)
        return NULL;
    if (vs_dtype_is_floating(to))
        return to == VS_F64 ? cpu_rows()->f64 : cpu_rows()->f32;
    return vs_dtype_is_floating(from) ? cpu_rows()->f64 : cpu_rows()->i64;
}

struct transpose {
    const struct cpu_iter *it;
    size_t size;
    int64_t tiles_a; /* tiles along dim 0, contiguous in the destination */
    int64_t tiles_b; /* tiles along dim 1, contiguous in the source */
};

static void transpose_tile(void *ctx, int64_t task)
{
    const struct transpose *t = ctx;
    const struct cpu_iter *it = t->it;
    int64_t a = task % t->tiles_a * TILE;
    int64_t b = task / t->tiles_a % t->tiles_b * TILE;
    int64_t rest = task / t->tiles_a / t->tiles_b;
    char *d = it->data[0] + a * it->strides[0][0] + b * it->strides[0][1];
    char *s = it->data[1] + a * it->strides[1][0] + b * it->strides[1][1];
    int64_t na = cpu_min(TILE, it->sizes[0] - a);
    int64_t nb = cpu_min(TILE, it->sizes[1] - b);

    for (int k = 2; k < it->ndim; k++) {
        int64_t i = rest % it->sizes[k];

        rest /= it->sizes[k];
        d += i * it->strides[0][k];
        s += i * it->strides[1][k];
    }
    for (int64_t j = 0; j < nb; j++)
        move_row(t->size, na, s + j * it->strides[1][1], it->strides[1][0],
                 d + j * it->strides[0][1], it->strides[0][0]);
}

struct transpose_run {
    struct transpose t;
    int64_t tiles;
    int64_t group;
};

static void transpose_group(void *ctx, int64_t task)
{
    struct transpose_run *r = ctx;
    int64_t end = cpu_min((task + 1) * r->group, r->tiles);

    for (int64_t i = task * r->group; i < end; i++)
        transpose_tile(&r->t, i);
}

/* Brings the dim that is contiguous in the source to place 1, where there is one; true if tiles pay. */
static bool find_transpose(struct cpu_iter *it, size_t size)
{
    int64_t unit = (int64_t)size;

    if (it->ndim < 2 || it->strides[0][0] != unit || it->strides[1][0] == unit || it->sizes[0] < 8)
        return false;
    for (int d = 1; d < it->ndim; d++) {
        if (it->strides[1][d] == unit && it->sizes[d] >= 8) {
            for (; d > 1; d--) {
                int64_t n = it->sizes[d];

                it->sizes[d] = it->sizes[d - 1];
                it->sizes[d - 1] = n;
                for (int k = 0; k < 2; k++) {
                    int64_t s = it->strides[k][d];

                    it->strides[k][d] = it->strides[k][d - 1];
                    it->strides[k][d - 1] = s;
                }
            }
            return true;
        }
    }
    return false;
}

void cpu_copy(const struct eng_view *src, const struct eng_view *dst)
{
    const struct eng_view *views[] = {dst, src};
    struct copy c = {via(src->dtype, dst->dtype), src->dtype, dst->dtype,
                     (size_t)vs_dtype_bytes(src->dtype)};
    struct cpu_iter it;

    cpu_iter_init(&it, 2, views, CPU_ORDER_ANY);
    if (it.total == 0)
        return;
    if (!c.num && find_transpose(&it, c.size)) {
        struct transpose_run r = {
            .t = {&it, c.size, (it.sizes[0] + TILE - 1) / TILE, (it.sizes[1] + TILE - 1) / TILE}};

        r.tiles = r.t.tiles_a * r.t.tiles_b * (it.total / (it.sizes[0] * it.sizes[1]));
        r.group = PIECE / (TILE * TILE);
        cpu_parallel((r.tiles + r.group - 1) / r.group, transpose_group, &r);
        return;
    }
    cpu_iter_run(&it, PIECE, copy_row, &c);
}

struct fill {
    enum vs_dtype dtype;
    size_t size;
    unsigned char pattern[8];
};

static void fill_row(void *ctx, int64_t index, int64_t n, char *const *data, const int64_t *strides)
{
    const struct fill *f = ctx;
    char *d = data[0];

    (void)index;
    if (strides[0] == (int64_t)f->size) {
        bool same = true;

        for (size_t i = 1; i < f->size; i++)
            same = same && f->pattern[i] == f->pattern[0];
        if (same) {
            memset(d, f->pattern[0], (size_t)n * f->size);
            return;
        }
    }
    move_row(f->size, n, (const char *)f->pattern, 0, d, strides[0]);
}

void cpu_fill(const struct eng_view *dst, struct eng_scalar value)
{
    const struct eng_view *views[] = {dst};
    struct fill f = {.dtype = dst->dtype, .size = (size_t)vs_dtype_bytes(dst->dtype)};
    uint64_t aligned = 0;
    struct cpu_iter it;

    if (value.is_int && !vs_dtype_is_floating(dst->dtype))
        cpu_set_i64(dst->dtype, (char *)&aligned, value.i);
    else
        cpu_set_f64(dst->dtype, (char *)&aligned, value.f);
    memcpy(f.pattern, &aligned, f.size);
    cpu_iter_init(&it, 1, views, CPU_ORDER_ANY);
    cpu_iter_run(&it, PIECE, fill_row, &f);
}

struct eng_scalar cpu_item(const struct eng_view *x)
{
    struct eng_scalar r = {.is_int = !vs_dtype_is_floating(x->dtype)};

    VS_ASSERT(cpu_numel(x) == 1);
    if (r.is_int) {
        r.i = cpu_get_i64(x->dtype, x->data);
        r.f = (double)r.i;
    } else {
        r.f = cpu_get_f64(x->dtype, x->data);
    }
    return r;
}
