/*
 * engine/device/cpu/cpu_index_adv.c - advanced indexing x[i0, i1, …] on the first dims, reading and writing.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  slices: the engine has already turned them into views.
 * Invariant:      indices are checked before anything is written; writes to the same element happen in row-major order
 *                 of the index, on one thread.
 */
#include "base/error.h"
#include "engine/device/cpu/cpu_index.h"
#include "engine/device/cpu/cpu_iter.h"
#include "engine/device/cpu/cpu_kernels.h"

struct adv {
    const struct eng_view *x;
    const struct eng_view *idx;
    int n;
    struct eng_view item; /* x's other dims at one index */
    struct eng_view rest; /* the other view's dims after those of the index, at one index */
    int64_t positions;
    bool accumulate;
    bool put;
};

static int64_t index_at(const struct eng_view *idx, int64_t position)
{
    const char *p = idx->data;

    for (int d = idx->ndim - 1; d >= 0; d--) {
        p += position % idx->sizes[d] * cpu_stride(idx, d);
        position /= idx->sizes[d];
    }
    return cpu_get_i64(idx->dtype, p);
}

/* Where x[idx[0][position], idx[1][position], …] starts. */
static char *target(const struct adv *a, int64_t position)
{
    char *p = a->x->data;

    for (int k = 0; k < a->n; k++) {
        int64_t i = index_at(&a->idx[k], position);

        p += (i < 0 ? i + a->x->sizes[k] : i) * cpu_stride(a->x, k);
    }
    return p;
}

static void one_position(const struct adv *a, const struct eng_view *other, int64_t position)
{
    struct eng_view item = a->item;
    struct eng_view rest = a->rest;
    char *p = other->data;
    int64_t left = position;

    for (int d = a->idx[0].ndim - 1; d >= 0; d--) {
        p += left % other->sizes[d] * cpu_stride(other, d);
        left /= other->sizes[d];
    }
    item.data = target(a, position);
    rest.data = p;
    if (!a->put)
        cpu_copy(&item, &rest);
    else if (a->accumulate)
        cpu_binary(ENG_B_ADD, item.dtype, &item, &rest, &item, NULL);
    else
        cpu_copy(&rest, &item);
}

struct adv_run {
    const struct adv *a;
    const struct eng_view *other;
    int64_t group;
};

static void positions_task(void *ctx, int64_t task)
{
    const struct adv_run *r = ctx;
    int64_t end = cpu_min((task + 1) * r->group, r->a->positions);

    for (int64_t i = task * r->group; i < end; i++)
        one_position(r->a, r->other, i);
}

/* v without its first n dims. */
static struct eng_view tail_of(const struct eng_view *v, int n)
{
    struct eng_view r = *v;

    r.ndim = v->ndim - n;
    for (int d = 0; d < r.ndim; d++) {
        r.sizes[d] = v->sizes[d + n];
        r.strides[d] = v->strides[d + n];
    }
    return r;
}

/* Returns false for an index out of range. */
static bool adv_init(struct adv *a, const struct eng_view *other)
{
    VS_ASSERT(a->n >= 1 && a->n <= a->x->ndim && other->ndim == a->idx[0].ndim + a->x->ndim - a->n);
    for (int k = 0; k < a->n; k++) {
        VS_ASSERT(a->idx[k].ndim == a->idx[0].ndim);
        if (!cpu_index_check(&a->idx[k], -a->x->sizes[k], a->x->sizes[k]))
            return false;
    }
    a->positions = cpu_numel(&a->idx[0]);
    a->item = tail_of(a->x, a->n);
    a->rest = tail_of(other, a->idx[0].ndim);
    return true;
}

bool cpu_index_get(const struct eng_view *x, const struct eng_view *idx, int n,
                   const struct eng_view *out)
{
    struct adv a = {.x = x, .idx = idx, .n = n};
    struct adv_run r = {&a, out, 1};

    if (!adv_init(&a, out))
        return false;
    r.group = cpu_max(1, 16384 / cpu_max(1, cpu_numel(&a.item)));
    cpu_parallel((a.positions + r.group - 1) / r.group, positions_task, &r);
    return true;
}

bool cpu_index_put(const struct eng_view *x, const struct eng_view *idx, int n,
                   const struct eng_view *src, bool accumulate)
{
    struct adv a = {.x = x, .idx = idx, .n = n, .accumulate = accumulate, .put = true};

    if (!adv_init(&a, src))
        return false;
    for (int64_t i = 0; i < a.positions; i++)
        one_position(&a, src, i);
    return true;
}
