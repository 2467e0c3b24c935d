/*
 * engine/ops/conv/patches.c - windows of a tensor: Tensor.unfold (a view), F.unfold and F.fold (im2col and col2im).
 *
 * Must not know:  models.
 * Invariant:      im2col and col2im are each other's gradients; both loop over the offsets within the window, and each
 *                 offset is one copy or one addition of a strided part.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/core/op_internal.h"
#include "engine/ops/functions.h"

/* ---- Tensor.unfold: windows of `size` every `step` along a dim, as a new last dim ---- */

static struct eng_tensor *windows(struct eng_tensor *x, int dim, int64_t size, int64_t step)
{
    int64_t sizes[VS_MAX_DIMS], strides[VS_MAX_DIMS];

    memcpy(sizes, x->sizes, sizeof(sizes));
    memcpy(strides, x->strides, sizeof(strides));
    sizes[x->ndim] = size;
    strides[x->ndim] = x->strides[dim];
    sizes[dim] = (x->sizes[dim] - size) / step + 1;
    strides[dim] = x->strides[dim] * step;
    return eng_as_strided(x, sizes, strides, x->ndim + 1, x->offset);
}

/* (input, dimension, size, step) */
void eng_f_unfold(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_unfold_input);
    int64_t size = eng_c_int(c, ARG_unfold_size), step = eng_c_int(c, ARG_unfold_step);
    int dim;

    if (!x->ndim || x->ndim == VS_MAX_DIMS) {
        eng_fail(c->e, VS_E_UNSUPPORTED, "unfold: tensors of %d dimensions are not supported",
                 x->ndim);
        return;
    }
    if (!eng_wrap_dim(c->e, eng_c_int(c, ARG_unfold_dimension), x->ndim, &dim))
        return;
    if (size < 0 || size > x->sizes[dim] || step <= 0) {
        eng_fail(c->e, VS_E_VALUE,
                 "unfold: size %" PRId64 " and step %" PRId64
                 " do not fit dimension %d of size %" PRId64,
                 size, step, dim, x->sizes[dim]);
        return;
    }
    eng_c_give(c, windows(x, dim, size, step));
}

/* Sums the gradients of overlapping windows: starts from zeros and adds once per offset within the window. */
void eng_b_unfold(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_unfold_input, 0);
    struct eng_tensor *g = b->g[0];
    struct eng_tensor *gx =
        eng_zeros(b->e, edge->sizes, edge->ndim, (enum vs_dtype)g->dtype, g->storage->on_host);
    int64_t asked = b->a[ARG_unfold_dimension].v.scalar.i, size = b->a[ARG_unfold_size].v.scalar.i,
            step = b->a[ARG_unfold_step].v.scalar.i;
    int dim = (int)(asked < 0 ? asked + edge->ndim : asked);
    double p[4] = {1};

    /* for overlapping windows PyTorch makes an index tensor 0, 1, 2, … of the elements that they cover */
    if (gx && step < size) {
        int64_t covered = (g->sizes[dim] - 1) * step + size;

        eng_unref(eng_empty(b->e, &covered, 1, VS_I64, g->storage->on_host));
    }
    for (int64_t k = 0; k < size && gx && b->e->kernels; k++) {
        struct eng_view from = eng_v(g), to = eng_v(gx);
        int64_t item = (int64_t)vs_dtype_bytes(from.dtype);

        from.data = (char *)from.data + k * from.strides[edge->ndim] * item;
        from.ndim = edge->ndim;
        to.data = (char *)to.data + k * to.strides[dim] * item;
        to.sizes[dim] = from.sizes[dim];
        to.strides[dim] *= step;
        b->e->kernels->binary(ENG_B_ADD, to.dtype, &to, &from, &to, p);
    }
    eng_b_give(b, ARG_unfold_input, gx);
}

/* ---- im2col: [N,C,H,W] -> [N, C*kh*kw, L]; col2im the other way ---- */

struct geometry {
    int64_t image[2], kernel[2], dilation[2], padding[2], stride[2];
    int64_t blocks[2]; /* numbers of windows along height and width; their product is L */
};

static int64_t at(const struct eng_arg *a, int k)
{
    return a->v.ints[a->count > 1 ? k : 0];
}

/* The arguments that say where the windows are: int lists of one or two. */
struct window_args {
    const struct eng_arg *kernel_size, *dilation, *padding, *stride;
};

static struct window_args im2col_args(const struct eng_arg *a)
{
    return (struct window_args){&a[ARG_im2col_kernel_size], &a[ARG_im2col_dilation],
                                &a[ARG_im2col_padding], &a[ARG_im2col_stride]};
}

static struct window_args col2im_args(const struct eng_arg *a)
{
    return (struct window_args){&a[ARG_col2im_kernel_size], &a[ARG_col2im_dilation],
                                &a[ARG_col2im_padding], &a[ARG_col2im_stride]};
}

/* Returns false if the call failed. */
static bool geometry_of(struct eng *e, struct window_args args, const int64_t *image,
                        struct geometry *out)
{
    for (int k = 0; k < 2; k++) {
        int64_t span;

        out->image[k] = image[k];
        out->kernel[k] = at(args.kernel_size, k);
        out->dilation[k] = at(args.dilation, k);
        out->padding[k] = at(args.padding, k);
        out->stride[k] = at(args.stride, k);
        span = image[k] + 2 * out->padding[k] - out->dilation[k] * (out->kernel[k] - 1) - 1;
        if (out->kernel[k] <= 0 || out->stride[k] <= 0 || out->dilation[k] <= 0 || span < 0) {
            eng_fail(e, VS_E_SHAPE,
                     "unfold: the windows do not fit: image %" PRId64 "x%" PRId64
                     ", kernel_size, stride, dilation must be positive and no larger",
                     image[0], image[1]);
            return false;
        }
        out->blocks[k] = span / out->stride[k] + 1;
    }
    return true;
}

/* The windows whose row (or column) `tap` lies inside the image: the first one, and their number. */
static int64_t inside(const struct geometry *g, int k, int64_t tap, int64_t *first)
{
    int64_t start = tap * g->dilation[k] - g->padding[k];
    int64_t low = start < 0 ? (-start + g->stride[k] - 1) / g->stride[k] : 0;
    int64_t high = g->image[k] - start <= 0 ? 0 : (g->image[k] - start - 1) / g->stride[k] + 1;

    high = high < g->blocks[k] ? high : g->blocks[k];
    *first = low;
    return high > low ? high - low : 0;
}

/*
 * The parts of the image and the columns at one offset within the window, both [N, C, rows, cols]. Returns false if
 * they are empty.
 */
static bool parts_of(const struct geometry *g, int64_t down, int64_t across,
                     const struct eng_view *image, const struct eng_view *columns,
                     struct eng_view *in, struct eng_view *col)
{
    int64_t item = (int64_t)vs_dtype_bytes(image->dtype);
    int64_t first[2], tap[2] = {down, across};
    int64_t channel = columns->strides[1] * g->kernel[0] * g->kernel[1];
    int64_t start = 0, start_col = (down * g->kernel[1] + across) * columns->strides[1];

    *in = *image;
    *col = *image;
    col->strides[0] = columns->strides[0];
    col->strides[1] = channel;
    col->strides[2] = columns->strides[2] * g->blocks[1];
    col->strides[3] = columns->strides[2];
    for (int k = 0; k < 2; k++) {
        in->sizes[2 + k] = col->sizes[2 + k] = inside(g, k, tap[k], &first[k]);
        if (!in->sizes[2 + k])
            return false;
        start += (tap[k] * g->dilation[k] - g->padding[k] + first[k] * g->stride[k]) *
                 image->strides[2 + k];
        start_col += first[k] * col->strides[2 + k];
        in->strides[2 + k] *= g->stride[k];
    }
    in->data = (char *)image->data + start * item;
    col->data = (char *)columns->data + start_col * item;
    return true;
}

/* Image [N,C,H,W] as a view with a batch; [C,H,W] gets one. Likewise columns, of one dim fewer. */
static struct eng_view batched(const struct eng_tensor *t, int ndim)
{
    struct eng_view v = eng_v(t);

    if (t->ndim == ndim)
        return v;
    for (int d = ndim - 1; d > 0; d--) {
        v.sizes[d] = v.sizes[d - 1];
        v.strides[d] = v.strides[d - 1];
    }
    v.ndim = ndim;
    v.sizes[0] = 1;
    v.strides[0] = 0;
    return v;
}

/* columns from image, or image (zeroed first) from columns. */
static void run(struct eng *e, const struct geometry *g, struct eng_tensor *image,
                struct eng_tensor *columns, bool to_columns)
{
    static const double P[4] = {1};
    struct eng_view vi = batched(image, 4), vc = batched(columns, 3), to = to_columns ? vc : vi;
    struct eng_scalar zero = {0};

    e->kernels->fill(&to, zero);
    for (int64_t down = 0; down < g->kernel[0]; down++) {
        for (int64_t across = 0; across < g->kernel[1]; across++) {
            struct eng_view in, col;

            if (!parts_of(g, down, across, &vi, &vc, &in, &col))
                continue;
            if (to_columns)
                e->kernels->copy(&in, &col);
            else
                e->kernels->binary(ENG_B_ADD, in.dtype, &in, &col, &in, P);
        }
    }
}

/*
 * PyTorch allocates the result with the input's size and then resizes it: a smaller result keeps that memory, a larger
 * one gets new memory while the old one still exists. `dense`: the row-major input, copied in between.
 */
static struct eng_tensor *resized_out(struct eng *e, struct eng_tensor *x, const int64_t *sizes,
                                      int ndim, struct eng_tensor **dense)
{
    enum vs_dtype dtype = (enum vs_dtype)x->dtype;
    struct eng_tensor *first = eng_empty(e, x->sizes, x->ndim, dtype, x->storage->on_host);
    int64_t strides[VS_MAX_DIMS], count = 1;
    struct eng_tensor *out;

    *dense = first ? eng_contiguous(e, x) : NULL;
    for (int d = 0; d < ndim; d++)
        count *= sizes[d];
    eng_contiguous_strides(sizes, ndim, strides);
    if (*dense && count > eng_numel(x))
        out = eng_empty(e, sizes, ndim, dtype, x->storage->on_host);
    else
        out = *dense ? eng_as_strided(first, sizes, strides, ndim, 0) : NULL;
    eng_unref(first);
    return out;
}

static struct eng_tensor *im2col(struct eng *e, struct eng_tensor *x, const struct geometry *g)
{
    struct eng_tensor *dense, *out;
    int n = x->ndim - 3;
    int64_t sizes[3];

    sizes[0] = x->sizes[0];
    sizes[n] = x->sizes[n] * g->kernel[0] * g->kernel[1];
    sizes[n + 1] = g->blocks[0] * g->blocks[1];
    out = resized_out(e, x, sizes, n + 2, &dense);
    if (out && e->kernels)
        run(e, g, dense, out, true);
    eng_unref(dense);
    return out;
}

static struct eng_tensor *col2im(struct eng *e, struct eng_tensor *x, const struct geometry *g)
{
    struct eng_tensor *dense, *out;
    int n = x->ndim - 2;
    int64_t sizes[4];

    sizes[0] = x->sizes[0];
    sizes[n] = x->sizes[n] / (g->kernel[0] * g->kernel[1]);
    sizes[n + 1] = g->image[0];
    sizes[n + 2] = g->image[1];
    out = resized_out(e, x, sizes, n + 3, &dense);
    if (out && e->kernels)
        run(e, g, out, dense, false);
    eng_unref(dense);
    return out;
}

/* (input, kernel_size, dilation, padding, stride) */
void eng_f_im2col(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_im2col_input);
    struct geometry g;

    if (x->ndim != 3 && x->ndim != 4) {
        eng_fail(c->e, VS_E_SHAPE, "unfold: expected a 3-D or 4-D input, got %d-D", x->ndim);
        return;
    }
    if (geometry_of(c->e, im2col_args(c->a), x->sizes + x->ndim - 2, &g))
        eng_c_give(c, im2col(c->e, x, &g));
}

void eng_b_im2col(struct eng_bw *b)
{
    const struct eng_edge *edge = eng_b_edge(b, ARG_im2col_input, 0);
    struct geometry g;

    if (geometry_of(b->e, im2col_args(b->a), edge->sizes + edge->ndim - 2, &g))
        eng_b_give(b, ARG_im2col_input, col2im(b->e, b->g[0], &g));
}

/* (input, output_size, kernel_size, dilation, padding, stride) */
void eng_f_col2im(struct eng_op_call *c)
{
    struct eng_tensor *x = eng_c_tensor(c, ARG_col2im_input);
    int64_t image[2] = {at(&c->a[ARG_col2im_output_size], 0), at(&c->a[ARG_col2im_output_size], 1)};
    struct geometry g;
    int n = x->ndim - 2;

    if (n != 0 && n != 1) {
        eng_fail(c->e, VS_E_SHAPE, "fold: expected a 2-D or 3-D input, got %d-D", x->ndim);
        return;
    }
    if (!geometry_of(c->e, col2im_args(c->a), image, &g))
        return;
    if (x->sizes[n] % (g.kernel[0] * g.kernel[1]) || x->sizes[n + 1] != g.blocks[0] * g.blocks[1]) {
        char shape[ENG_SHAPE_TEXT_MAX];

        eng_fail(c->e, VS_E_SHAPE,
                 "fold: an input of %s does not fit: expected a multiple of %" PRId64
                 " rows and %" PRId64 " columns",
                 eng_shape_text(x, shape), g.kernel[0] * g.kernel[1], g.blocks[0] * g.blocks[1]);
        return;
    }
    eng_c_give(c, col2im(c->e, x, &g));
}

void eng_b_col2im(struct eng_bw *b)
{
    int64_t image[2] = {at(&b->a[ARG_col2im_output_size], 0), at(&b->a[ARG_col2im_output_size], 1)};
    struct geometry g;

    if (geometry_of(b->e, col2im_args(b->a), image, &g))
        eng_b_give(b, ARG_col2im_input, im2col(b->e, b->g[0], &g));
}
