/*
 * engine/ops/create.c - ops that create or overwrite tensors: constants, ranges, random numbers, copies, casts, moves.
 *
 * Must not know:  models.
 * Invariant:      a random op takes one number from the counter of its device, so running it again after the counter
 *                 is restored gives the same values.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/workspace/workspace.h"

static enum vs_dtype dtype_or(const struct eng_op_call *c, int arg, enum vs_dtype otherwise)
{
    return c->a[arg].kind == ENG_A_DTYPE ? c->a[arg].v.dtype : otherwise;
}

static bool host_or(const struct eng_op_call *c, int arg, bool otherwise)
{
    return c->a[arg].kind == ENG_A_DEVICE ? c->a[arg].v.on_host : otherwise;
}

struct eng_rng_key eng_rng_next(struct eng *e, bool on_host)
{
    uint64_t *offset = on_host ? &e->rng.host_offset : &e->rng.device_offset;
    struct eng_rng_key key = {e->rng.seed + (on_host ? 0 : UINT64_C(0x9E3779B97F4A7C15)), *offset};

    (*offset)++;
    return key;
}

static struct eng_scalar scalar_of(const struct eng_arg *arg)
{
    if (arg->kind == ENG_A_BOOL)
        return (struct eng_scalar){true, arg->v.flag, (double)arg->v.flag};
    return arg->v.scalar;
}

static enum vs_dtype scalar_dtype(const struct eng_arg *arg)
{
    return arg->kind == ENG_A_BOOL ? VS_BOOL : arg->v.scalar.is_int ? VS_I64 : VS_F32;
}

static void fill(struct eng_op_call *c, struct eng_tensor *t, struct eng_scalar value)
{
    if (t && eng_c_computes(c)) {
        struct eng_view v = eng_v(t);

        c->e->kernels->fill(&v, value);
    }
}

/* Which constant an op fills with; `value` is its fill_value argument, NULL if it has none. */
static void fill_for(struct eng_op_call *c, struct eng_tensor *t, const struct eng_arg *value)
{
    switch (c->id) {
    case ENG_OP_zeros:
    case ENG_OP_zeros_like:
    case ENG_OP_new_zeros:
        fill(c, t, (struct eng_scalar){true, 0, 0});
        break;
    case ENG_OP_ones:
    case ENG_OP_ones_like:
    case ENG_OP_new_ones:
        fill(c, t, (struct eng_scalar){true, 1, 1});
        break;
    case ENG_OP_full:
    case ENG_OP_full_like:
    case ENG_OP_new_full:
        fill(c, t, scalar_of(value));
        break;
    default: /* empty has no defined values; zeros keep runs reproducible */
        fill(c, t, (struct eng_scalar){true, 0, 0});
        break;
    }
}

static void give_filled(struct eng_op_call *c, struct eng_tensor *t, const struct eng_arg *value)
{
    fill_for(c, t, value);
    if (t)
        eng_c_give(c, t);
}

/* empty, zeros, ones */
void eng_f_constant(struct eng_op_call *c)
{
    const struct eng_arg *size = &c->a[ARG_constant_size];

    give_filled(c,
                eng_empty(c->e, size->v.ints, (int)size->count,
                          dtype_or(c, ARG_constant_dtype, VS_F32),
                          host_or(c, ARG_constant_device, true)),
                NULL);
}

void eng_f_full(struct eng_op_call *c)
{
    const struct eng_arg *size = &c->a[ARG_full_size], *value = &c->a[ARG_full_fill_value];

    give_filled(c,
                eng_empty(c->e, size->v.ints, (int)size->count,
                          dtype_or(c, ARG_full_dtype, scalar_dtype(value)),
                          host_or(c, ARG_full_device, true)),
                value);
}

/* A new tensor with the sizes of x and, if x is dense, its strides. */
static struct eng_tensor *empty_like(struct eng_op_call *c, const struct eng_tensor *x,
                                     enum vs_dtype dtype, bool on_host)
{
    if (eng_is_non_overlapping_and_dense(x))
        return eng_empty_strided(c->e, x->sizes, x->strides, x->ndim, dtype, on_host);
    return on_host == x->storage->on_host ? eng_c_empty_like(c, x, dtype)
                                          : eng_empty(c->e, x->sizes, x->ndim, dtype, on_host);
}

/* empty_like, zeros_like, ones_like */
void eng_f_constant_like(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_constant_like_input);

    give_filled(c,
                empty_like(c, x, dtype_or(c, ARG_constant_like_dtype, (enum vs_dtype)x->dtype),
                           host_or(c, ARG_constant_like_device, x->storage->on_host)),
                NULL);
}

void eng_f_full_like(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_full_like_input);

    give_filled(c,
                empty_like(c, x, dtype_or(c, ARG_full_like_dtype, (enum vs_dtype)x->dtype),
                           host_or(c, ARG_full_like_device, x->storage->on_host)),
                &c->a[ARG_full_like_fill_value]);
}

/* new_empty, new_zeros, new_ones */
void eng_f_new_constant(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_new_constant_input);
    const struct eng_arg *size = &c->a[ARG_new_constant_size];

    give_filled(c,
                eng_empty(c->e, size->v.ints, (int)size->count,
                          dtype_or(c, ARG_new_constant_dtype, (enum vs_dtype)x->dtype),
                          host_or(c, ARG_new_constant_device, x->storage->on_host)),
                NULL);
}

void eng_f_new_full(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_new_full_input);
    const struct eng_arg *size = &c->a[ARG_new_full_size];

    give_filled(c,
                eng_empty(c->e, size->v.ints, (int)size->count,
                          dtype_or(c, ARG_new_full_dtype, (enum vs_dtype)x->dtype),
                          host_or(c, ARG_new_full_device, x->storage->on_host)),
                &c->a[ARG_new_full_fill_value]);
}

void eng_f_eye(struct eng_op_call *c)
{
    int64_t sizes[2] = {eng_c_int(c, ARG_eye_n), eng_c_has(c, ARG_eye_m) ? eng_c_int(c, ARG_eye_m)
                                                                         : eng_c_int(c, ARG_eye_n)};
    struct eng_tensor *t = eng_empty(c->e, sizes, 2, dtype_or(c, ARG_eye_dtype, VS_F32),
                                     host_or(c, ARG_eye_device, true));

    fill(c, t, (struct eng_scalar){true, 0, 0});
    if (t && eng_c_computes(c)) {
        struct eng_view v = eng_v(t);

        v.ndim = 1;
        v.sizes[0] = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
        v.strides[0] = sizes[1] + 1;
        c->e->kernels->fill(&v, (struct eng_scalar){true, 1, 1});
    }
    if (t)
        eng_c_give(c, t);
}

/* arange(end), arange(start, end[, step]) */
void eng_f_arange(struct eng_op_call *c)
{
    bool one = !eng_c_has(c, ARG_arange_end);
    double start = one ? 0 : eng_c_float(c, ARG_arange_start);
    double end = one ? eng_c_float(c, ARG_arange_start) : eng_c_float(c, ARG_arange_end);
    double step = eng_c_float(c, ARG_arange_step);
    bool ints = c->a[ARG_arange_start].v.scalar.is_int &&
                (one || c->a[ARG_arange_end].v.scalar.is_int) &&
                c->a[ARG_arange_step].v.scalar.is_int;
    int64_t count;
    struct eng_tensor *t;

    if (step == 0 || (end - start) / step < 0) {
        eng_fail(c->e, VS_E_VALUE,
                 "arange: upper bound and lower bound are inconsistent with the sign of the step");
        return;
    }
    count = (int64_t)ceil((end - start) / step);
    t = eng_empty(c->e, &count, 1, dtype_or(c, ARG_arange_dtype, ints ? VS_I64 : VS_F32),
                  host_or(c, ARG_arange_device, true));
    if (!t)
        return;
    if (eng_c_computes(c)) {
        struct eng_view v = eng_v(t);

        c->e->kernels->arange(&v, start, step);
    }
    eng_c_give(c, t);
}

void eng_f_linspace(struct eng_op_call *c)
{
    double start = eng_c_float(c, ARG_linspace_start);
    double end = eng_c_float(c, ARG_linspace_end);
    int64_t steps = eng_c_int(c, ARG_linspace_steps);
    struct eng_tensor *t = eng_empty(c->e, &steps, 1, dtype_or(c, ARG_linspace_dtype, VS_F32),
                                     host_or(c, ARG_linspace_device, true));

    if (!t)
        return;
    if (eng_c_computes(c)) {
        struct eng_view v = eng_v(t);

        c->e->kernels->arange(&v, start, steps > 1 ? (end - start) / (double)(steps - 1) : 0);
    }
    eng_c_give(c, t);
}

static void random_fill(struct eng_op_call *c, struct eng_tensor *t, bool normal)
{
    struct eng_rng_key key;

    if (!t)
        return;
    key = eng_rng_next(c->e, t->storage->on_host);
    if (eng_c_computes(c)) {
        struct eng_view v = eng_v(t);

        if (normal)
            c->e->kernels->random_normal(&v, 0, 1, key);
        else
            c->e->kernels->random_uniform(&v, 0, 1, key);
    }
    eng_c_give(c, t);
}

void eng_f_random(struct eng_op_call *c)
{
    random_fill(c,
                eng_empty(c->e, c->a[ARG_random_size].v.ints, (int)c->a[ARG_random_size].count,
                          dtype_or(c, ARG_random_dtype, VS_F32),
                          host_or(c, ARG_random_device, true)),
                c->id == ENG_OP_randn);
}

void eng_f_random_like(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_random_like_input);

    random_fill(c,
                eng_c_empty_like(c, x, dtype_or(c, ARG_random_like_dtype, (enum vs_dtype)x->dtype)),
                c->id == ENG_OP_randn_like);
}

/* Integers of [low, high). */
static void give_random_ints(struct eng_op_call *c, int64_t low, int64_t high,
                             const struct eng_arg *size, enum vs_dtype dtype, bool on_host)
{
    struct eng_rng_key key = eng_rng_next(c->e, on_host);
    struct eng_tensor *t;

    if (high <= low) {
        eng_fail(c->e, VS_E_VALUE, "randint: the range [%" PRId64 ", %" PRId64 ") is empty", low,
                 high);
        return;
    }
    t = eng_empty(c->e, size->v.ints, (int)size->count, dtype, on_host);
    if (!t)
        return;
    if (eng_c_computes(c)) {
        struct eng_view v = eng_v(t);

        c->e->kernels->random_int(&v, low, high, key);
    }
    eng_c_give(c, t);
}

void eng_f_randint(struct eng_op_call *c)
{
    give_random_ints(c, eng_c_int(c, ARG_randint_low), eng_c_int(c, ARG_randint_high),
                     &c->a[ARG_randint_size], dtype_or(c, ARG_randint_dtype, VS_I64),
                     host_or(c, ARG_randint_device, true));
}

void eng_f_randint_high(struct eng_op_call *c)
{
    give_random_ints(c, 0, eng_c_int(c, ARG_randint_high_high), &c->a[ARG_randint_high_size],
                     dtype_or(c, ARG_randint_high_dtype, VS_I64),
                     host_or(c, ARG_randint_high_device, true));
}

/* A permutation of 0..n-1: the order of n random numbers. */
void eng_f_randperm(struct eng_op_call *c)
{
    int64_t n = eng_c_int(c, ARG_randperm_n);
    bool on_host = host_or(c, ARG_randperm_device, true);
    struct eng_rng_key key = eng_rng_next(c->e, on_host);
    struct eng_tensor *t = eng_empty(c->e, &n, 1, dtype_or(c, ARG_randperm_dtype, VS_I64), on_host);

    if (!t)
        return;
    if (eng_runs(c->e)) {
        struct eng_tensor *noise = eng_empty(c->e, &n, 1, VS_F64, true);
        struct eng_tensor *sorted = eng_empty(c->e, &n, 1, VS_F64, true);

        if (noise && sorted) {
            struct eng_view vn = eng_v(noise);
            struct eng_view vs = eng_v(sorted);
            struct eng_view vo = eng_v(t);

            if (c->e->kernels)
                c->e->kernels->random_uniform(&vn, 0, 1, key);
            eng_run_sort(c->e, on_host, &vn, 0, false, &vs, &vo);
        }
        eng_unref(sorted);
        eng_unref(noise);
    }
    eng_c_give(c, t);
}

/* Ops that overwrite their first argument; called in place. */
void eng_f_refill(struct eng_op_call *c)
{
    struct eng_tensor *t = eng_c_tensor(c, ARG_refill_input);
    struct eng_rng_key key = {0, 0};
    struct eng_view v;

    if (!c->inplace) {
        eng_fail(c->e, VS_E_TYPE, "%s exists only as an in-place operation",
                 eng_op_get(c->id)->name);
        return;
    }
    if (c->id == ENG_OP_normal_ || c->id == ENG_OP_uniform_ || c->id == ENG_OP_bernoulli_)
        key = eng_rng_next(c->e, t->storage->on_host);
    eng_c_give(c, eng_ref(t));
    if (!eng_c_computes(c))
        return;
    v = eng_v(t);
    switch (c->id) {
    case ENG_OP_normal_:
        c->e->kernels->random_normal(&v, eng_c_float(c, ARG_normal__mean),
                                     eng_c_float(c, ARG_normal__std), key);
        break;
    case ENG_OP_uniform_:
        c->e->kernels->random_uniform(&v, eng_c_float(c, ARG_uniform__from),
                                      eng_c_float(c, ARG_uniform__to), key);
        break;
    case ENG_OP_bernoulli_:
        c->e->kernels->random_bernoulli(&v, eng_c_float(c, ARG_bernoulli__p), key);
        break;
    case ENG_OP_fill_formula:
        c->e->kernels->fill_formula(&v, (uint32_t)eng_c_int(c, ARG_fill_formula_key),
                                    eng_c_float(c, ARG_fill_formula_offset),
                                    eng_c_float(c, ARG_fill_formula_scale));
        break;
    case ENG_OP_fill_formula_int:
        c->e->kernels->fill_formula_int(&v, (uint32_t)eng_c_int(c, ARG_fill_formula_int_key),
                                        eng_c_int(c, ARG_fill_formula_int_low),
                                        eng_c_int(c, ARG_fill_formula_int_high));
        break;
    case ENG_OP_fill_:
        c->e->kernels->fill(&v, scalar_of(&c->a[ARG_fill__value]));
        break;
    case ENG_OP_zero_:
        c->e->kernels->fill(&v, (struct eng_scalar){true, 0, 0});
        break;
    default:
        vs_die("%s does not refill", eng_op_get(c->id)->name);
    }
}

/* ---- copies ---- */

static void copy_values(struct eng_op_call *c, struct eng_tensor *dst, const struct eng_tensor *src)
{
    if (dst && eng_c_computes(c)) {
        struct eng_view vs = eng_v_expand(src, dst);
        struct eng_view vd = eng_v(dst);

        c->e->kernels->copy(&vs, &vd);
    }
}

/* dst.copy_(src): src broadcasts to dst */
void eng_f_copy_(struct eng_op_call *c)
{
    struct eng_tensor *dst = eng_c_tensor(c, ARG_copy__input);
    struct eng_tensor *src = eng_c_tensor(c, ARG_copy__src);
    int64_t sizes[VS_MAX_DIMS];
    int ndim;

    if (!eng_broadcast(c->e, dst, src, sizes, &ndim))
        return;
    if (ndim != dst->ndim || memcmp(sizes, dst->sizes, sizeof(*sizes) * (size_t)ndim) != 0) {
        char ta[ENG_SHAPE_TEXT_MAX], tb[ENG_SHAPE_TEXT_MAX];

        eng_fail(c->e, VS_E_SHAPE, "copy_: a tensor of shape %s does not fit into one of shape %s",
                 eng_shape_text(src, ta), eng_shape_text(dst, tb));
        return;
    }
    copy_values(c, dst, src);
    eng_c_give(c, eng_ref(dst));
}

/* gradient of src: g in src's dtype; of input: zeros, because its old value is overwritten */
void eng_b_copy_(struct eng_bw *b)
{
    struct eng_arg args[] = {eng_at(b->g[0]), eng_anone(), eng_anone()};
    const struct eng_edge *src = &b->node->edges[1];

    if (eng_b_needs(b, ARG_copy__input))
        eng_b_give(b, ARG_copy__input, eng_call1(b->e, ENG_OP_zeros_like, args));
    if (eng_b_needs(b, ARG_copy__src))
        eng_b_give(b, ARG_copy__src, eng_to_dtype(b->e, b->g[0], (enum vs_dtype)src->dtype));
}

void eng_f_clone(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_clone_input);
    struct eng_tensor *out = eng_c_empty_like(c, x, (enum vs_dtype)x->dtype);

    copy_values(c, out, x);
    if (out)
        eng_c_give(c, out);
}

/*
 * The tensor itself if it is row-major, otherwise a dense row-major copy as clone(memory_format=contiguous) makes it.
 */
void eng_f_contiguous(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_contiguous_input);
    struct eng_tensor *out;

    if (eng_is_contiguous(x)) {
        eng_c_give(c, eng_ref(x));
        return;
    }
    out = eng_op1(c->e, ENG_OP_clone_contiguous, x);
    if (out)
        eng_c_give(c, out);
}

void eng_f_clone_contiguous(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_clone_contiguous_input);
    struct eng_tensor *out = eng_c_empty(c, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x);

    copy_values(c, out, x);
    if (out)
        eng_c_give(c, out);
}

/* A copy in another dtype or on the other device; dense inputs keep their strides. */
void eng_f_to_copy(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_to_copy_input);
    enum vs_dtype dtype = dtype_or(c, ARG_to_copy_dtype, (enum vs_dtype)x->dtype);
    bool on_host = host_or(c, ARG_to_copy_device, x->storage->on_host);
    struct eng_tensor *out;

    if (eng_is_non_overlapping_and_dense(x))
        out = eng_empty_strided(c->e, x->sizes, x->strides, x->ndim, dtype, on_host);
    else if (on_host == x->storage->on_host)
        out = eng_c_empty_like(c, x, dtype);
    else
        out = eng_empty(c->e, x->sizes, x->ndim, dtype, on_host);
    copy_values(c, out, x);
    if (out)
        eng_c_give(c, out);
}

/* g in the input's dtype and on its device */
void eng_b_to_copy(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_to_copy_input, 0);
    struct eng_arg args[] = {eng_at(b->g[0]), eng_ad((enum vs_dtype)edge->dtype),
                             eng_ahost(edge->on_host)};

    if (b->g[0]->dtype == edge->dtype && b->g[0]->storage->on_host == edge->on_host)
        eng_b_give(b, ARG_to_copy_input, eng_ref(b->g[0]));
    else
        eng_b_give(b, ARG_to_copy_input, eng_call1(b->e, ENG_OP_to_copy, args));
}

/* tensor.to(...): returns the tensor itself if nothing changes */
void eng_f_to(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_to_input);
    enum vs_dtype dtype = dtype_or(c, ARG_to_dtype, (enum vs_dtype)x->dtype);
    bool on_host = host_or(c, ARG_to_device, x->storage->on_host);

    if (dtype == (enum vs_dtype)x->dtype && on_host == x->storage->on_host &&
        !eng_c_bool(c, ARG_to_copy)) {
        eng_c_give(c, eng_ref(x));
        return;
    }
    {
        struct eng_arg args[] = {eng_at(x), eng_ad(dtype), eng_ahost(on_host)};
        struct eng_tensor *out = eng_call1(c->e, ENG_OP_to_copy, args);

        if (out)
            eng_c_give(c, out);
    }
}

/* Same memory, same version counter, no history. */
void eng_f_detach(struct eng_op_call *c)
{
    eng_c_give(c, eng_alias(eng_c_tensor(c, ARG_detach_input)));
}

/* ---- triangles ---- */

static struct eng_tensor *triangle(struct eng_op_call *c, struct eng_tensor *x, int64_t diagonal,
                                   bool is_upper)
{
    struct eng_tensor *out;

    if (x->ndim < 2)
        return eng_fail(c->e, VS_E_SHAPE, "%s: the input must have at least 2 dimensions",
                        eng_op_get(c->id)->name);
    out = c->inplace ? eng_ref(x) : eng_c_empty(c, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    if (out && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x);
        struct eng_view vo = eng_v(out);

        c->e->kernels->triangle(&vx, &vo, diagonal, is_upper);
    }
    return out;
}

void eng_f_triangle(struct eng_op_call *c)
{
    struct eng_tensor *out = triangle(c, eng_c_tensor(c, ARG_triangle_input),
                                      eng_c_int(c, ARG_triangle_diagonal), c->id == ENG_OP_triu);

    if (out)
        eng_c_give(c, out);
}

void eng_b_triangle(struct eng_bw *b)
{
    struct eng_arg args[] = {eng_at(b->g[0]), b->a[ARG_triangle_diagonal]};

    eng_b_give(b, ARG_triangle_input, eng_call1(b->e, b->node->op, args));
}
