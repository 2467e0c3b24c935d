/*
 * engine/ops/norm/norm.c - layer and rms normalisation, and dropout.
 *
 * Must not know:  models.
 * Invariant:      the statistics are saved in float32 (float64 for float64 inputs).
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"
#include "engine/workspace/scratch.h"

static enum vs_dtype stat_dtype(const struct eng_tensor *x)
{
    return x->dtype == VS_F64 ? VS_F64 : VS_F32;
}

/* ---- layer norm, rms norm ---- */

/* Rows and columns of an input normalised over its last dims; false where they are not its last dims. */
static bool rows_and_cols(struct eng_op_call *c, const struct eng_tensor *x,
                          const struct eng_arg *normalized_shape, int64_t *rows, int64_t *cols)
{
    const int64_t *shape = normalized_shape->v.ints;
    int n = (int)normalized_shape->count;
    char tx[ENG_SHAPE_TEXT_MAX];

    *rows = *cols = 1;
    for (int d = 0; d < x->ndim; d++) {
        if (d < x->ndim - n)
            *rows *= x->sizes[d];
        else
            *cols *= x->sizes[d];
        if (d >= x->ndim - n && x->sizes[d] != shape[d - (x->ndim - n)])
            goto bad;
    }
    if (n >= 1 && n <= x->ndim)
        return true;
bad:
    eng_fail(c->e, VS_E_SHAPE,
             "%s: normalized_shape is not the shape of the last %d dimensions of the input %s",
             eng_op_get(c->id)->name, n, eng_shape_text(x, tx));
    return false;
}

static struct eng_view matrix(const struct eng_tensor *t, int64_t rows, int64_t cols)
{
    struct eng_view v = eng_v(t);

    v.ndim = 2;
    v.sizes[0] = rows;
    v.sizes[1] = cols;
    v.strides[0] = cols;
    v.strides[1] = 1;
    return v;
}

static struct eng_view line(const struct eng_tensor *t)
{
    struct eng_view v = eng_v(t);

    v.ndim = 1;
    v.sizes[0] = eng_numel(t);
    v.strides[0] = 1;
    return v;
}

static const struct eng_view *opt_line(const struct eng_tensor *t, struct eng_view *v)
{
    if (!t)
        return NULL;
    *v = line(t);
    return v;
}

static int stat_sizes(const struct eng_tensor *x, int normalized, int64_t *sizes)
{
    for (int d = 0; d < x->ndim; d++)
        sizes[d] = d < x->ndim - normalized ? x->sizes[d] : 1;
    return x->ndim;
}

void eng_f_layer_norm(struct eng_op_call *c)
{
    struct eng_ret ret;

    if (!eng_call(c->e, ENG_OP_native_layer_norm, c->a, &ret))
        return;
    eng_unref(ret.few[1]);
    eng_unref(ret.few[2]);
    eng_c_give(c, ret.few[0]);
}

/* (out, mean, rstd) */
void eng_f_native_layer_norm(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_native_layer_norm_input);
    int64_t rows, cols, sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *mean, *rstd, *dx;
    int n;

    if (!rows_and_cols(c, x, &c->a[ARG_native_layer_norm_normalized_shape], &rows, &cols))
        return;
    n = stat_sizes(x, (int)c->a[ARG_native_layer_norm_normalized_shape].count, sizes);
    dx = eng_contiguous(c->e, x);
    out = dx ? eng_c_empty(c, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x) : NULL;
    mean = out ? eng_c_empty(c, sizes, n, stat_dtype(x), x) : NULL;
    rstd = mean ? eng_c_empty(c, sizes, n, stat_dtype(x), x) : NULL;
    if (rstd && eng_c_computes(c)) {
        struct eng_view vx = matrix(dx, rows, cols), vo = matrix(out, rows, cols), vm = line(mean),
                        vr = line(rstd), w, b;

        c->e->kernels->layer_norm(&vx, opt_line(eng_c_tensor(c, ARG_native_layer_norm_weight), &w),
                                  opt_line(eng_c_tensor(c, ARG_native_layer_norm_bias), &b),
                                  eng_c_float(c, ARG_native_layer_norm_eps), &vo, &vm, &vr);
    }
    eng_unref(dx);
    eng_c_give(c, out);
    eng_c_give(c, mean);
    eng_c_give(c, rstd);
}

#define ROWS_SUMMED_AT_ONCE (64 * 1024)
#define ROWS_A_PART 32
#define COLS_A_BLOCK 32
#define MOST_BLOCKS (32 * 1024)

/*
 * Rows of partial sums that the gradients of weight and bias are made from where rows are many and columns few; 0: in
 * one pass.
 */
static int64_t gradient_parts(const struct eng *e, const struct eng_tensor *like, int64_t rows,
                              int64_t cols)
{
    int64_t blocks = (cols + COLS_A_BLOCK - 1) / COLS_A_BLOCK;
    int64_t parts = (rows + ROWS_A_PART - 1) / ROWS_A_PART;

    if (like->storage->on_host || rows <= ROWS_SUMMED_AT_ONCE ||
        cols / COLS_A_BLOCK >= eng_scratch_processors(e) / 2)
        return 0;
    return parts < MOST_BLOCKS / blocks ? parts : MOST_BLOCKS / blocks;
}

static struct eng_tensor *parts_of(struct eng *e, const struct eng_tensor *sum, int64_t parts)
{
    return sum ? eng_empty(e, (int64_t[]){parts, eng_numel(sum)}, 2, (enum vs_dtype)sum->dtype,
                           false)
               : NULL;
}

/* *slot becomes a new tensor, the sum of the parts. */
static void parts_sum(struct eng *e, struct eng_tensor **slot, const struct eng_tensor *parts)
{
    struct eng_tensor *sum;

    if (!*slot || !parts)
        return;
    sum = eng_empty(e, (*slot)->sizes, (*slot)->ndim, (enum vs_dtype)(*slot)->dtype, false);
    if (sum) {
        struct eng_tensor flat = *sum;

        flat.ndim = 1;
        flat.sizes[0] = parts->sizes[1];
        flat.strides[0] = 1;
        eng_scratch_reduce(e, ENG_SR_SUM, parts, &flat, 1, false);
    }
    eng_slot_set(slot, sum);
}

/* The temporaries between the first kernel for gw and gb (either may be NULL) and their final values. */
static void sum_in_parts(struct eng *e, const struct eng_tensor *x, int64_t rows, int64_t cols,
                         struct eng_tensor **gw, struct eng_tensor **gb)
{
    int64_t parts = gradient_parts(e, x, rows, cols);
    struct eng_tensor *pw, *pb;

    if (!parts || e->failed)
        return;
    pw = parts_of(e, *gw, parts);
    pb = parts_of(e, *gb, parts);
    parts_sum(e, gw, pw);
    parts_sum(e, gb, pb);
    eng_unref(pb);
    eng_unref(pw);
}

/* saved: bias, input, weight, mean, rstd */
void eng_b_native_layer_norm(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *x = b->saved[SAVED_native_layer_norm_input],
                      *w = b->saved[SAVED_native_layer_norm_weight],
                      *mean = b->saved[SAVED_native_layer_norm_result1],
                      *rstd = b->saved[SAVED_native_layer_norm_result2];
    struct eng_tensor *g, *dx, *gx = NULL, *gw = NULL, *gb = NULL;
    int64_t rows, cols;

    if (!x || !mean || !rstd)
        return;
    dx = eng_contiguous(e, x);
    rows = eng_numel(mean);
    cols = rows ? eng_numel(x) / rows : 0;
    if (eng_b_needs(b, ARG_native_layer_norm_input))
        gx = eng_empty(e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host);
    if (w && eng_b_needs(b, ARG_native_layer_norm_weight))
        gw = eng_empty(e, w->sizes, w->ndim, (enum vs_dtype)w->dtype, w->storage->on_host);
    if (b->a[ARG_native_layer_norm_bias].kind == ENG_A_TENSOR &&
        eng_b_needs(b, ARG_native_layer_norm_bias)) {
        const struct eng_edge *edge = eng_b_edge(b, ARG_native_layer_norm_bias, 0);

        gb = eng_empty(e, edge->sizes, edge->ndim, (enum vs_dtype)edge->dtype, x->storage->on_host);
    }
    g = eng_contiguous(e, b->g[0]);
    sum_in_parts(e, x, rows, cols, &gw, &gb);
    if (g && dx && e->kernels && !e->failed) {
        struct eng_view vg = matrix(g, rows, cols), vx = matrix(dx, rows, cols), vm = line(mean),
                        vr = line(rstd), vw, vgx, vgw, vgb;

        if (gx)
            vgx = matrix(gx, rows, cols);
        e->kernels->layer_norm_backward(&vg, &vx, opt_line(w, &vw), &vm, &vr, gx ? &vgx : NULL,
                                        opt_line(gw, &vgw), opt_line(gb, &vgb));
    }
    eng_unref(g);
    eng_unref(dx);
    eng_b_give(b, ARG_native_layer_norm_input, gx);
    if (gw)
        eng_b_give(b, ARG_native_layer_norm_weight, gw);
    if (gb)
        eng_b_give(b, ARG_native_layer_norm_bias, gb);
}

/* Without eps it is the machine epsilon of the input's dtype. */
static double rms_eps(const struct eng_op_call *c, int arg, const struct eng_tensor *x)
{
    return eng_c_has(c, arg)     ? eng_c_float(c, arg)
           : x->dtype == VS_F64  ? 0x1p-52
           : x->dtype == VS_F16  ? 0x1p-10
           : x->dtype == VS_BF16 ? 0x1p-7
                                 : 0x1p-23;
}

/* x / sqrt(mean of squares + eps), where autograd sees each part. */
static struct eng_tensor *rms_divide(struct eng *e, struct eng_tensor *x, int dims_count,
                                     double eps, struct eng_tensor **inverse)
{
    const bool is_kept = eng_torch(e) <= 4; /* the mean, until its use */
    struct eng_tensor *square = eng_pow_scalar(e, x, 2);
    int64_t dims[VS_MAX_DIMS];
    struct eng_arg mean_args[] = {eng_at(square), eng_aints(dims, dims_count), eng_ab(true),
                                  eng_anone()};
    struct eng_tensor *mean, *out = NULL;
    struct eng_ret ret;

    for (int i = 0; i < dims_count; i++)
        dims[i] = x ? x->ndim - dims_count + i : 0;
    mean = square ? eng_call1(e, ENG_OP_mean, mean_args) : NULL;
    if (mean) {
        struct eng_arg add_args[] = {eng_at(mean), eng_af(eps), eng_ai(1)};

        if (eng_call_inplace(e, ENG_OP_add, add_args, &ret))
            eng_ret_release(&ret);
    }
    *inverse = mean ? eng_op1(e, ENG_OP_rsqrt, mean) : NULL;
    if (*inverse && is_kept)
        out = eng_mul(e, x, *inverse);
    eng_unref(mean);
    eng_unref(square);
    if (*inverse && !is_kept)
        out = eng_mul(e, x, *inverse);
    return out;
}

/* Up to PyTorch 2.8 it is composed of other ops, for half types in float32. */
static void rms_norm_compose(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, ARG_rms_norm_input),
                      *weight = eng_c_tensor(c, ARG_rms_norm_weight);
    const enum vs_dtype dtype = (enum vs_dtype)x->dtype;
    const bool is_half = dtype == VS_F16 || dtype == VS_BF16;
    struct eng_tensor *wide, *inverse, *out, *product;
    int64_t rows, cols;

    if (!rows_and_cols(c, x, &c->a[ARG_rms_norm_normalized_shape], &rows, &cols))
        return;
    wide = eng_to_dtype(e, x, is_half ? VS_F32 : dtype);
    out = rms_divide(e, wide, (int)c->a[ARG_rms_norm_normalized_shape].count,
                     rms_eps(c, ARG_rms_norm_eps, x), &inverse);
    if (out && weight) {
        product = eng_mul(e, out, weight);
        eng_unref(out);
        out = product;
    }
    eng_c_give(c, eng_to_dtype(e, out, dtype));
    eng_unref(out);
    eng_unref(inverse);
    eng_unref(wide);
}

void eng_f_rms_norm(struct eng_op_call *c)
{
    struct eng_ret ret;

    if (eng_torch(c->e) <= 8) {
        rms_norm_compose(c);
        return;
    }
    if (!eng_call(c->e, ENG_OP_fused_rms_norm, c->a, &ret))
        return;
    eng_unref(ret.few[1]);
    eng_c_give(c, ret.few[0]);
}

/* (out, rstd) */
void eng_f_fused_rms_norm(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_fused_rms_norm_input);
    int64_t rows, cols, sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *rstd, *dx;
    double eps = rms_eps(c, ARG_fused_rms_norm_eps, x);
    int n;

    if (!rows_and_cols(c, x, &c->a[ARG_fused_rms_norm_normalized_shape], &rows, &cols))
        return;
    n = stat_sizes(x, (int)c->a[ARG_fused_rms_norm_normalized_shape].count, sizes);
    dx = eng_contiguous(c->e, x);
    out = dx ? eng_c_empty(c, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x) : NULL;
    rstd = out ? eng_c_empty(c, sizes, n, stat_dtype(x), x) : NULL;
    if (rstd && eng_c_computes(c)) {
        struct eng_view vx = matrix(dx, rows, cols), vo = matrix(out, rows, cols), vr = line(rstd),
                        w;

        c->e->kernels->rms_norm(&vx, opt_line(eng_c_tensor(c, ARG_fused_rms_norm_weight), &w), eps,
                                &vo, &vr);
    }
    eng_unref(dx);
    eng_c_give(c, out);
    eng_c_give(c, rstd);
}

/* saved: input, weight, rstd */
void eng_b_fused_rms_norm(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_tensor *x = b->saved[SAVED_fused_rms_norm_input],
                      *w = b->saved[SAVED_fused_rms_norm_weight],
                      *rstd = b->saved[SAVED_fused_rms_norm_result1];
    struct eng_tensor *g, *dx, *gx = NULL, *gw = NULL;
    int64_t rows, cols;

    if (!x || !rstd)
        return;
    dx = eng_contiguous(e, x);
    rows = eng_numel(rstd);
    cols = rows ? eng_numel(x) / rows : 0;
    if (eng_b_needs(b, ARG_fused_rms_norm_input))
        gx = eng_empty(e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host);
    if (w && eng_b_needs(b, ARG_fused_rms_norm_weight))
        gw = eng_empty(e, w->sizes, w->ndim, (enum vs_dtype)w->dtype, w->storage->on_host);
    g = eng_contiguous(e, b->g[0]);
    sum_in_parts(e, x, rows, cols, &gw, &(struct eng_tensor *){NULL});
    if (g && dx && e->kernels && !e->failed) {
        struct eng_view vg = matrix(g, rows, cols), vx = matrix(dx, rows, cols), vr = line(rstd),
                        vw, vgx, vgw;

        if (gx)
            vgx = matrix(gx, rows, cols);
        e->kernels->rms_norm_backward(&vg, &vx, opt_line(w, &vw), &vr, gx ? &vgx : NULL,
                                      opt_line(gw, &vgw));
    }
    eng_unref(g);
    eng_unref(dx);
    eng_b_give(b, ARG_fused_rms_norm_input, gx);
    if (gw)
        eng_b_give(b, ARG_fused_rms_norm_weight, gw);
}

/* ---- dropout ---- */

/*
 * What a kept element is multiplied by, as the path with a noise tensor has it: 1 divided by 1 - p in the tensor's own
 * arithmetic. Both paths draw the same numbers, so that dropout in place drops the same elements.
 */
static double kept_scale(enum vs_dtype dtype, double p)
{
    return dtype == VS_F64 ? 1 / (1 - p) : (double)(1.0F / (float)(1 - p));
}

/* The path that multiplies by a noise tensor: in place, feature dropout, p = 1. */
static void dropout_by_noise(struct eng_op_call *c, struct eng_tensor *x, double p, bool feature)
{
    struct eng *e = c->e;
    struct eng_tensor *noise;
    struct eng_arg args[2];
    struct eng_ret ret;
    bool grad;

    if (p == 1.0) {
        noise = eng_zeros(e, NULL, 0, (enum vs_dtype)x->dtype, x->storage->on_host);
    } else {
        int64_t sizes[VS_MAX_DIMS];
        struct eng_arg like[] = {eng_at(x), eng_anone(), eng_anone()};
        struct eng_arg of_size[] = {eng_at(x), eng_aints(sizes, x->ndim), eng_anone(), eng_anone()};

        for (int d = 0; d < x->ndim; d++)
            sizes[d] = d >= 2 ? 1 : x->sizes[d];
        grad = eng_set_grad_enabled(e, false);
        noise = feature ? eng_call1(e, ENG_OP_new_empty, of_size)
                        : eng_call1(e, ENG_OP_empty_like, like);
        args[0] = eng_at(noise);
        args[1] = eng_af(1 - p);
        if (noise && eng_call_inplace(e, ENG_OP_bernoulli_, args, &ret)) {
            struct eng_arg scale[] = {eng_at(noise), eng_af(1 - p), eng_anone()};

            eng_ret_release(&ret);
            if (eng_call_inplace(e, ENG_OP_div, scale, &ret))
                eng_ret_release(&ret);
        }
        eng_set_grad_enabled(e, grad);
    }
    args[0] = eng_at(x);
    args[1] = eng_at(noise);
    if (noise && (c->inplace ? eng_call_inplace(e, ENG_OP_mul, args, &ret)
                             : eng_call(e, ENG_OP_mul, args, &ret)))
        eng_c_give(c, ret.few[0]);
    eng_unref(noise);
}

/* dropout(input, p, train), feature_dropout likewise */
void eng_f_dropout(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_dropout_input);
    double p = eng_c_float(c, ARG_dropout_p);
    bool feature = c->id == ENG_OP_feature_dropout;
    struct eng_ret ret;

    if (!(p >= 0 && p <= 1)) {
        eng_fail(c->e, VS_E_VALUE, "dropout probability has to be between 0 and 1, but got %g", p);
        return;
    }
    if (p == 0 || !eng_c_bool(c, ARG_dropout_train) || !eng_numel(x)) {
        eng_c_give(c, eng_ref(x));
        return;
    }
    if (c->inplace || feature || p == 1 || x->storage->on_host) {
        dropout_by_noise(c, x, p, feature);
        return;
    }
    {
        struct eng_arg args[] = {eng_at(x), eng_af(p)};

        if (eng_call(c->e, ENG_OP_native_dropout, args, &ret)) {
            eng_unref(ret.few[1]);
            eng_c_give(c, ret.few[0]);
        }
    }
}

/* (out, mask): the mask is allocated first */
void eng_f_native_dropout(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_native_dropout_input);
    double p = eng_c_float(c, ARG_native_dropout_p);
    struct eng_tensor *mask = eng_c_empty_like(c, x, VS_BOOL);
    struct eng_tensor *out = mask ? eng_c_empty_like(c, x, (enum vs_dtype)x->dtype) : NULL;
    struct eng_rng_key key = eng_rng_next(c->e, x->storage->on_host);

    if (out && eng_c_computes(c)) {
        struct eng_view vx = eng_v(x), vm = eng_v(mask), vo = eng_v(out), vs;
        struct eng_cell cell;
        double none[4] = {0};

        c->e->kernels->random_bernoulli(&vm, 1 - p, key);
        vs = eng_v_scalar((struct eng_scalar){false, 0, kept_scale((enum vs_dtype)x->dtype, p)},
                          out, &cell);
        c->e->kernels->binary(ENG_B_MUL, vo.dtype, &vx, &vm, &vo, none);
        c->e->kernels->binary(ENG_B_MUL, vo.dtype, &vo, &vs, &vo, none);
    }
    eng_c_give(c, out);
    eng_c_give(c, mask);
}

/* g * mask / (1 - p), one tensor: row-major or channels-last, however else g lies. saved: mask */
void eng_b_native_dropout(struct eng_bw *b)
{
    struct eng_op_call c = {.e = b->e, .id = b->node->op};
    struct eng_tensor *mask = b->saved[SAVED_native_dropout_result1];
    struct eng_tensor *gx;

    if (!mask)
        return;
    gx = eng_c_empty_suggested(&c, b->g[0], b->g[0]->sizes, (enum vs_dtype)b->g[0]->dtype);
    if (gx && b->e->kernels) {
        struct eng_view vg = eng_v(b->g[0]), vm = eng_v(mask), vo = eng_v(gx), vs;
        struct eng_cell cell;
        double none[4] = {0};

        vs = eng_v_scalar((struct eng_scalar){false, 0,
                                              kept_scale((enum vs_dtype)gx->dtype,
                                                         b->a[ARG_native_dropout_p].v.scalar.f)},
                          gx, &cell);
        b->e->kernels->binary(ENG_B_MUL, vo.dtype, &vg, &vm, &vo, none);
        b->e->kernels->binary(ENG_B_MUL, vo.dtype, &vo, &vs, &vo, none);
    }
    eng_b_give(b, ARG_native_dropout_input, gx);
}
