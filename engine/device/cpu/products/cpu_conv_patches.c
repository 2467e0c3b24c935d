/*
 * engine/device/cpu/products/cpu_conv_patches.c - geometry of convolutions and the matrix of patches.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/products/cpu_conv_internal.h"

void cpu_conv_init(struct cpu_conv *c, const struct eng_view *x, const struct eng_view *w,
                   const struct eng_view *y, const struct eng_conv2d *p)
{
    VS_ASSERT(x->ndim == 4 && w->ndim == 4 && y->ndim == 4 && p->groups > 0);
    c->num = cpu_num_of(y->dtype);
    c->p = *p;
    c->batch = x->sizes[0];
    c->groups = p->groups;
    c->ci = x->sizes[1] / p->groups;
    c->co = w->sizes[0] / p->groups;
    c->kh = w->sizes[2];
    c->kw = w->sizes[3];
    c->h = x->sizes[2];
    c->w = x->sizes[3];
    c->ho = y->sizes[2];
    c->wo = y->sizes[3];
    c->taps = c->kh * c->kw;
    c->positions = c->ho * c->wo;
    c->is_pointwise = c->taps == 1 && p->stride[0] == 1 && p->stride[1] == 1 &&
                      p->padding[0] == 0 && p->padding[1] == 0;
    VS_ASSERT(vs_dtype_is_floating(y->dtype) && y->sizes[0] == c->batch);
    VS_ASSERT(w->sizes[1] == c->ci && c->ci * p->groups == x->sizes[1] &&
              y->sizes[1] == w->sizes[0] && c->co * p->groups == w->sizes[0]);
    /* conv_transpose2d may ask for an input larger than the outputs cover, never a smaller one */
    for (int d = 0; d < 2; d++) {
        int64_t reach = p->dilation[d] * (w->sizes[2 + d] - 1) + 1;

        VS_ASSERT(p->stride[d] > 0 && p->dilation[d] > 0);
        VS_ASSERT(c->positions == 0 || (y->sizes[2 + d] - 1) * p->stride[d] + reach <=
                                           x->sizes[2 + d] + 2 * p->padding[d]);
    }
}

/* Outputs [*lo, *hi) of a row of `wo` whose tap lies inside a line of `w`: 0 <= o*stride + shift < w. */
static void inside(int64_t w, int64_t wo, int64_t stride, int64_t shift, int64_t *lo, int64_t *hi)
{
    *lo = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    *hi = w - shift <= 0 ? 0 : (w - shift - 1) / stride + 1;
    *hi = cpu_min(*hi, wo);
    *lo = cpu_min(*lo, wo);
    *hi = cpu_max(*lo, *hi);
}

/* One row of the patch matrix: the tap (r, s) over one input plane. */
static void patch_row(const struct cpu_conv *c, const struct eng_view *x, const char *plane,
                      int64_t r, int64_t s, int64_t first, int64_t count, char *row)
{
    const size_t size = c->num->size;
    int64_t stride_w = cpu_stride(x, 3);
    int64_t step = c->p.stride[1] * stride_w;
    int64_t shift = s * c->p.dilation[1] - c->p.padding[1];
    int64_t lo;
    int64_t hi;

    inside(c->w, c->wo, c->p.stride[1], shift, &lo, &hi);
    while (count > 0) {
        int64_t oy = first / c->wo;
        int64_t ox = first % c->wo;
        int64_t n = cpu_min(c->wo - ox, count);
        int64_t iy = oy * c->p.stride[0] + r * c->p.dilation[0] - c->p.padding[0];
        int64_t a = cpu_min(cpu_max(lo - ox, 0), n);
        int64_t b = cpu_min(cpu_max(hi - ox, a), n);

        if (iy < 0 || iy >= c->h)
            a = b = n;
        if (a > 0)
            memset(row, 0, (size_t)a * size);
        if (b > a)
            c->num->load(x->dtype,
                         plane + iy * cpu_stride(x, 2) + (ox + a) * step + shift * stride_w, step,
                         b - a, row + (size_t)a * size);
        if (n > b)
            memset(row + (size_t)b * size, 0, (size_t)(n - b) * size);
        row += (size_t)n * size;
        first += n;
        count -= n;
    }
}

void cpu_conv_patches(const struct cpu_conv *c, const struct eng_view *x, int64_t n,
                      int64_t channel, int64_t channels, int64_t first, int64_t count, char *col)
{
    size_t row = (size_t)count * c->num->size;

    for (int64_t i = 0; i < channels; i++) {
        const char *plane =
            (const char *)x->data + n * cpu_stride(x, 0) + (channel + i) * cpu_stride(x, 1);

        for (int64_t r = 0; r < c->kh; r++) {
            for (int64_t s = 0; s < c->kw; s++) {
                patch_row(c, x, plane, r, s, first, count, col);
                col += row;
            }
        }
    }
}

static void add_strided(const struct cpu_num *num, const char *src, int64_t n, char *dst,
                        int64_t step)
{
    if (step == 1) {
        num->axpy(n, src, 1.0, dst);
    } else if (num->dtype == VS_F32) {
        const float *s = (const float *)(const void *)src;
        float *d = (float *)(void *)dst;

        for (int64_t i = 0; i < n; i++)
            d[i * step] += s[i];
    } else {
        const double *s = (const double *)(const void *)src;
        double *d = (double *)(void *)dst;

        for (int64_t i = 0; i < n; i++)
            d[i * step] += s[i];
    }
}

void cpu_conv_add_patches(const struct cpu_conv *c, const char *col, int64_t channels,
                          int64_t first, int64_t count, char *planes)
{
    const size_t size = c->num->size;

    for (int64_t row = 0; row < channels * c->taps; row++) {
        char *plane = planes + (size_t)(row / c->taps * c->h * c->w) * size;
        int64_t r = row % c->taps / c->kw;
        int64_t shift = row % c->kw * c->p.dilation[1] - c->p.padding[1];
        int64_t at = first;
        int64_t left = count;
        int64_t lo;
        int64_t hi;

        inside(c->w, c->wo, c->p.stride[1], shift, &lo, &hi);
        while (left > 0) {
            int64_t ox = at % c->wo;
            int64_t n = cpu_min(c->wo - ox, left);
            int64_t iy = at / c->wo * c->p.stride[0] + r * c->p.dilation[0] - c->p.padding[0];
            int64_t a = cpu_min(cpu_max(lo - ox, 0), n);
            int64_t b = cpu_min(cpu_max(hi - ox, a), n);

            if (iy >= 0 && iy < c->h && b > a)
                add_strided(c->num, col + (size_t)a * size, b - a,
                            plane + (size_t)(iy * c->w + (ox + a) * c->p.stride[1] + shift) * size,
                            c->p.stride[1]);
            col += (size_t)n * size;
            at += n;
            left -= n;
        }
    }
}

bool cpu_conv_is_flat(const struct cpu_num *num, const struct eng_view *v)
{
    return v->dtype == num->dtype && (v->sizes[3] == 1 || v->strides[3] == 1) &&
           (v->sizes[2] == 1 || v->strides[2] == v->sizes[3]);
}

struct cpu_mat cpu_conv_weights(const struct cpu_num *num, const struct eng_view *w, void **scratch,
                                uint64_t *bytes)
{
    int64_t row = w->sizes[1] * w->sizes[2] * w->sizes[3];
    struct eng_view copy = *w;
    int64_t stride = 1;

    *scratch = NULL;
    *bytes = 0;
    if (cpu_conv_is_flat(num, w) &&
        (w->sizes[1] == 1 || w->strides[1] == w->sizes[2] * w->sizes[3]) &&
        (w->sizes[0] == 1 || w->strides[0] >= row))
        return (struct cpu_mat){w->data, w->sizes[0] == 1 ? row : w->strides[0], 1};
    *bytes = (uint64_t)(cpu_max(1, row * w->sizes[0])) * num->size;
    *scratch = cpu_mem_get(*bytes);
    copy.data = *scratch;
    copy.dtype = num->dtype;
    for (int d = 3; d >= 0; d--) {
        copy.strides[d] = stride;
        stride *= copy.sizes[d];
    }
    cpu_copy(w, &copy);
    return (struct cpu_mat){*scratch, row, 1};
}
