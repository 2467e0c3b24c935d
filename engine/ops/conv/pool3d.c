/*
 * engine/ops/conv/pool3d.c - pooling of [N,C,D,H,W].
 *
 * Must not know:  models.
 * Invariant:      pooling saves its input although only the shape is used; max pooling allocates int64 indices even if
 *                 nothing is saved. Only max pooling with windows of a fixed size has channels-last results.
 */
#include <string.h>

#include "engine/ops/conv/volume.h"
#include "engine/ops/functions.h"

/* Windows in the planes, and along the depth as windows over rows of columns. */
struct pool3d {
    struct eng_pool2d planes;
    struct eng_pool2d depth;
    bool is_adaptive, is_backward;
};

static int64_t at_or(const struct eng_arg *a, int k, int64_t otherwise)
{
    if (a->kind != ENG_A_INTS || !a->count)
        return otherwise;
    return a->v.ints[a->count > 1 ? k : 0];
}

/* From int lists of one or three; an empty stride is the kernel; dilation NULL: 1. */
static void pool_params(struct pool3d *p, const struct eng_arg *kernel,
                        const struct eng_arg *stride, const struct eng_arg *padding,
                        const struct eng_arg *dilation)
{
    memset(p, 0, sizeof(*p));
    p->depth.kernel[1] = p->depth.stride[1] = p->depth.dilation[1] = 1;
    for (int k = 0; k < 3; k++) {
        struct eng_pool2d *side = k == 0 ? &p->depth : &p->planes;
        int at = k == 0 ? 0 : k - 1;

        side->kernel[at] = at_or(kernel, k, 1);
        side->stride[at] = at_or(stride, k, side->kernel[at]);
        side->padding[at] = at_or(padding, k, 0);
        side->dilation[at] = dilation ? at_or(dilation, k, 1) : 1;
    }
}

static void avg_params(struct pool3d *p, const struct eng_arg *a)
{
    const struct eng_arg *divisor = &a[ARG_avg_pool3d_divisor_override];

    pool_params(p, &a[ARG_avg_pool3d_kernel_size], &a[ARG_avg_pool3d_stride],
                &a[ARG_avg_pool3d_padding], NULL);
    p->planes.count_include_pad = p->depth.count_include_pad =
        a[ARG_avg_pool3d_count_include_pad].v.flag;
    if (divisor->kind == ENG_A_SCALAR) {
        p->planes.divisor_override = divisor->v.scalar.i;
        p->depth.divisor_override = 1;
    }
}

static int64_t pool_size(int64_t in, int64_t kernel, int64_t pad, int64_t stride, int64_t dilation,
                         bool ceil_mode)
{
    int64_t span = in + 2 * pad - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
    int64_t out = (span >= 0 ? span / stride : -1) + 1;

    if (ceil_mode && (out - 1) * stride >= in + pad)
        out--; /* the last window must start inside the input or its left padding */
    return out;
}

/* Whether x has the dims of an image; false: failed. */
static bool is_volume(struct eng_op_call *c, const struct eng_tensor *x)
{
    char shape[ENG_SHAPE_TEXT_MAX];

    if (x->ndim == 4 || x->ndim == 5)
        return true;
    eng_fail(c->e, VS_E_SHAPE, "%s: expected a 4-D or 5-D input, got %s", eng_op_get(c->id)->name,
             eng_shape_text(x, shape));
    return false;
}

static bool pool_sizes(struct eng_op_call *c, const struct eng_tensor *x, const struct pool3d *p,
                       bool ceil_mode, int64_t *sizes)
{
    if (!is_volume(c, x))
        return false;
    memcpy(sizes, x->sizes, sizeof(*sizes) * x->ndim);
    for (int k = 0; k < 3; k++) {
        const struct eng_pool2d *side = k == 0 ? &p->depth : &p->planes;
        int at = k == 0 ? 0 : k - 1, d = x->ndim - 3 + k;

        if (side->kernel[at] < 1 || side->stride[at] < 1 ||
            side->padding[at] * 2 > side->kernel[at]) {
            eng_fail(c->e, VS_E_VALUE,
                     "%s: kernel and stride must be at least 1 and padding at most half the kernel",
                     eng_op_get(c->id)->name);
            return false;
        }
        sizes[d] = pool_size(x->sizes[d], side->kernel[at], side->padding[at], side->stride[at],
                             side->dilation[at], ceil_mode);
        if (sizes[d] < 1) {
            char shape[ENG_SHAPE_TEXT_MAX];

            eng_fail(c->e, VS_E_SHAPE,
                     "%s: the output would be empty: input %s is smaller than the kernel",
                     eng_op_get(c->id)->name, eng_shape_text(x, shape));
            return false;
        }
    }
    return true;
}

/* Sizes of an adaptive pooling's result; false: failed. */
static bool adaptive_sizes(struct eng_op_call *c, const struct eng_tensor *x,
                           const struct eng_arg *size, int64_t *sizes)
{
    if (!is_volume(c, x))
        return false;
    memcpy(sizes, x->sizes, sizeof(*sizes) * x->ndim);
    for (int k = 0; k < 3; k++)
        sizes[x->ndim - 3 + k] = at_or(size, k, x->sizes[x->ndim - 3 + k]);
    return true;
}

/* ---- max ---- */

/* rows of the same positions in planes: positions = plane[positions] + plane_size * (positions / row) */
static void join_indices(const struct eng *e, const struct eng_view *in_plane,
                         struct eng_view *positions, int64_t row, int64_t plane_size)
{
    struct eng_host_scratch depth = eng_host_scratch_copy(e, positions, VS_I64);
    struct eng_view divisor = *positions, from = *in_plane, index = depth.v, to = *positions;
    double factor[4] = {(double)plane_size};

    divisor.data = &row;
    memset(divisor.strides, 0, sizeof(divisor.strides));
    /* [1,C,D,row] as [C,D*row] */
    for (int k = 0; k < 3; k++) {
        struct eng_view *v = k == 0 ? &from : k == 1 ? &index : &to;

        v->ndim = 2;
        v->sizes[0] = v->sizes[1];
        v->sizes[1] = v->sizes[2] * v->sizes[3];
        v->strides[0] = v->sizes[1];
        v->strides[1] = 1;
    }
    (void)e->kernels->gather(&from, 1, &index, &to);
    e->kernels->binary(ENG_B_FLOOR_DIV, VS_I64, &depth.v, &divisor, &depth.v, factor);
    e->kernels->binary(ENG_B_ADD, VS_I64, positions, &depth.v, positions, factor);
    eng_host_scratch_put(e, &depth);
}

/* One image [C,D,H,W]: the maxima of the planes, then those along the depth among them. The first maximum stays. */
static void max_image(const struct eng *e, const struct pool3d *p, const struct eng_view *x,
                      const struct eng_view *out, const struct eng_view *indices)
{
    int64_t half[4] = {x->sizes[0], x->sizes[1], out->sizes[2], out->sizes[3]};
    struct eng_host_scratch values =
        eng_host_scratch_get(e, half, 4, eng_volume_sum_dtype(x->dtype));
    struct eng_host_scratch in_plane = eng_host_scratch_get(e, half, 4, VS_I64);
    struct eng_host_scratch positions = eng_host_scratch_get(e, out->sizes, 4, VS_I64);
    struct eng_view from = eng_volume_columns(&values.v), to = eng_volume_columns(out),
                    rows = eng_volume_columns(&in_plane.v), at = eng_volume_columns(&positions.v);

    if (p->is_adaptive) {
        e->kernels->adaptive_max_pool2d(x, &values.v, &in_plane.v);
        e->kernels->adaptive_max_pool2d(&from, &to, &at);
    } else {
        e->kernels->max_pool2d(x, &values.v, &in_plane.v, &p->planes);
        e->kernels->max_pool2d(&from, &to, &at, &p->depth);
    }
    join_indices(e, &rows, &at, at.sizes[3], x->sizes[2] * x->sizes[3]);
    e->kernels->copy(&positions.v, indices);
    eng_host_scratch_put(e, &positions);
    eng_host_scratch_put(e, &in_plane);
    eng_host_scratch_put(e, &values);
}

static void max_images(const struct eng *e, const struct pool3d *p, const struct eng_tensor *x,
                       const struct eng_tensor *out, const struct eng_tensor *indices)
{
    if (!eng_numel(x) || !eng_numel(out))
        return;
    for (int64_t n = 0; n < eng_volume_count(x); n++) {
        struct eng_view vx = eng_volume_image(x, n), vo = eng_volume_image(out, n),
                        vi = eng_volume_image(indices, n);

        max_image(e, p, &vx, &vo, &vi);
    }
}

static struct eng_tensor *in_layout(struct eng *e, struct eng_tensor *t, bool last)
{
    return last ? eng_to_channels_last(e, t) : eng_contiguous(e, t);
}

void eng_f_max_pool3d_indices(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_max_pool3d_indices_input);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *indices, *dense;
    struct pool3d p;

    pool_params(&p, &c->a[ARG_max_pool3d_indices_kernel_size], &c->a[ARG_max_pool3d_indices_stride],
                &c->a[ARG_max_pool3d_indices_padding], &c->a[ARG_max_pool3d_indices_dilation]);
    if (!pool_sizes(c, x, &p, eng_c_bool(c, ARG_max_pool3d_indices_ceil_mode), sizes))
        return;
    out = eng_c_empty_suggested(c, x, sizes, (enum vs_dtype)x->dtype);
    indices = out ? eng_c_empty_suggested(c, x, sizes, VS_I64) : NULL;
    dense = in_layout(c->e, x, eng_suggests_channels_last(x));
    if (indices && dense && eng_c_computes(c))
        max_images(c->e, &p, dense, out, indices);
    eng_unref(dense);
    eng_c_give(c, out);
    eng_c_give(c, indices);
}

/* max_pool3d gives the values only */
void eng_f_max_pool3d(struct eng_op_call *c)
{
    struct eng_ret ret;

    if (!eng_call(c->e, ENG_OP_max_pool3d_indices, c->a, &ret))
        return;
    eng_unref(ret.few[1]);
    eng_c_give(c, ret.few[0]);
}

void eng_f_adaptive_max_pool3d(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_adaptive_max_pool3d_input);
    struct pool3d p = {.is_adaptive = true};
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *indices, *dense;

    if (!adaptive_sizes(c, x, &c->a[ARG_adaptive_max_pool3d_output_size], sizes))
        return;
    out = eng_c_empty(c, sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    indices = out ? eng_c_empty(c, sizes, x->ndim, VS_I64, x) : NULL;
    dense = eng_contiguous(c->e, x);
    if (indices && dense && eng_c_computes(c))
        max_images(c->e, &p, dense, out, indices);
    eng_unref(dense);
    eng_c_give(c, out);
    eng_c_give(c, indices);
}

/* [N,C,D*H*W]: each volume as one row, in which indices are positions. */
static struct eng_view flat_volumes(const struct eng_tensor *t)
{
    struct eng_view v = eng_volume_image(t, 0), columns = eng_volume_columns(&v), out = columns;

    out.ndim = 3;
    out.sizes[0] = eng_volume_count(t);
    out.strides[0] = t->strides[0];
    out.sizes[2] = columns.sizes[2] * columns.sizes[3];
    out.strides[2] = columns.strides[3];
    return out;
}

/* saved: input, indices */
void eng_b_any_max_pool3d(struct eng_bw *b)
{
    struct eng *e = b->e;
    struct eng_op_call c = {.e = e, .id = b->node->op};
    struct eng_tensor *x = b->saved[SAVED_any_max_pool3d_input],
                      *indices = b->saved[SAVED_any_max_pool3d_result1];
    bool last;
    struct eng_tensor *g, *gx;

    if (!x || !indices)
        return;
    last = b->node->op == ENG_OP_max_pool3d_indices && eng_suggests_channels_last(x);
    if (last)
        gx = eng_c_empty_suggested(&c, x, x->sizes, (enum vs_dtype)x->dtype);
    else
        gx = eng_empty(e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host);
    g = in_layout(e, b->g[0], last);
    if (gx && g && e->kernels) {
        struct eng_view vg = flat_volumes(g), vi = flat_volumes(indices), vo = flat_volumes(gx);
        const struct eng_scalar zero = {true, 0, 0.0};

        e->kernels->fill(&vo, zero);
        (void)e->kernels->scatter(&vo, 2, &vi, &vg, zero, true);
    }
    eng_unref(g);
    eng_b_give(b, ARG_any_max_pool3d_input, gx);
}

/* ---- average ---- */

static void avg_step(const struct eng *e, const void *how, bool along_depth,
                     const struct eng_view *big, const struct eng_view *small)
{
    const struct pool3d *p = how;
    const struct eng_pool2d *window = along_depth ? &p->depth : &p->planes;

    if (p->is_adaptive && p->is_backward)
        e->kernels->adaptive_avg_pool2d_backward(small, big);
    else if (p->is_adaptive)
        e->kernels->adaptive_avg_pool2d(big, small);
    else if (p->is_backward)
        e->kernels->avg_pool2d_backward(small, big, window);
    else
        e->kernels->avg_pool2d(big, small, window);
}

void eng_f_avg_pool3d(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_avg_pool3d_input);
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *dense;
    struct pool3d p;

    avg_params(&p, c->a);
    if (!pool_sizes(c, x, &p, eng_c_bool(c, ARG_avg_pool3d_ceil_mode), sizes))
        return;
    out = eng_c_empty(c, sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    dense = eng_contiguous(c->e, x);
    if (out && dense && eng_c_computes(c))
        eng_volume_forward(c->e, dense, out, avg_step, &p);
    eng_unref(dense);
    eng_c_give(c, out);
}

/* The gradient of an average: row-major, from a row-major copy of g. */
static struct eng_tensor *avg_gradient(struct eng_bw *b, const struct eng_tensor *x,
                                       const struct pool3d *p)
{
    struct eng_tensor *gx =
        eng_empty(b->e, x->sizes, x->ndim, (enum vs_dtype)x->dtype, x->storage->on_host);
    struct eng_tensor *g = eng_contiguous(b->e, b->g[0]);

    if (gx && g && b->e->kernels && !b->e->failed)
        eng_volume_backward(b->e, g, gx, avg_step, p);
    eng_unref(g);
    return gx;
}

void eng_b_avg_pool3d(struct eng_bw *b)
{
    struct eng_tensor *x = b->saved[SAVED_avg_pool3d_input];
    struct pool3d p;

    if (!x)
        return;
    avg_params(&p, b->a);
    p.is_backward = true;
    eng_b_give(b, ARG_avg_pool3d_input, avg_gradient(b, x, &p));
}

/* an output of 1x1x1 is computed as a mean, others by the adaptive pooling kernel */
void eng_f_adaptive_avg_pool3d(struct eng_op_call *c)
{
    struct eng *e = c->e;
    struct eng_tensor *x = eng_c_tensor(c, ARG_adaptive_avg_pool3d_input), *mean;
    const struct eng_arg *size = &c->a[ARG_adaptive_avg_pool3d_output_size];
    int64_t dims[3] = {-1, -2, -3}, strides[VS_MAX_DIMS];
    struct eng_arg args[] = {eng_at(x), eng_aints(dims, 3), eng_ab(true), eng_anone()};

    if (!is_volume(c, x))
        return;
    if (at_or(size, 0, 0) != 1 || at_or(size, 1, 0) != 1 || at_or(size, 2, 0) != 1) {
        eng_c_give(c, eng_call1(e, ENG_OP_adaptive_avg_pool3d_leaf, c->a));
        return;
    }
    mean = eng_call1(e, ENG_OP_mean, args);
    /* PyTorch sets the strides of this result to channels-last ones */
    if (mean && eng_suggests_channels_last(x)) {
        struct eng_arg view[] = {eng_at(mean), eng_aints(mean->sizes, 5), eng_aints(strides, 5),
                                 eng_ai(0)};

        eng_channels_last_strides(mean->sizes, 5, strides);
        eng_slot_set(&mean, eng_call1(e, ENG_OP_as_strided, view));
    }
    eng_c_give(c, mean);
}

void eng_f_adaptive_avg_pool3d_leaf(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_adaptive_avg_pool3d_leaf_input);
    struct pool3d p = {.is_adaptive = true};
    int64_t sizes[VS_MAX_DIMS];
    struct eng_tensor *out, *dense;

    if (!adaptive_sizes(c, x, &c->a[ARG_adaptive_avg_pool3d_leaf_output_size], sizes))
        return;
    dense = eng_contiguous(c->e, x);
    out = eng_c_empty(c, sizes, x->ndim, (enum vs_dtype)x->dtype, x);
    if (out && dense && eng_c_computes(c))
        eng_volume_forward(c->e, dense, out, avg_step, &p);
    eng_unref(dense);
    eng_c_give(c, out);
}

void eng_b_adaptive_avg_pool3d_leaf(struct eng_bw *b)
{
    struct eng_tensor *x = b->saved[SAVED_adaptive_avg_pool3d_leaf_input];
    struct pool3d p = {.is_adaptive = true, .is_backward = true};

    if (x)
        eng_b_give(b, ARG_adaptive_avg_pool3d_leaf_input, avg_gradient(b, x, &p));
}
