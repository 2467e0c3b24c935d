/*
 * engine/device/cpu/products/cpu_conv_depthwise.c - convolutions in which every channel is a separate group.
 *
 * No matrix product is used: each plane is padded with zeros, its columns are sorted by their position modulo the
 * stride, and each row of outputs is a weighted sum of such rows, one per tap. The gradient of the input is computed in
 * the same way for each of the stride_h*stride_w phases of its rows and columns; the gradient of the weight multiplies
 * rows and sums the products.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/products/cpu_conv_internal.h"
#include "engine/device/cpu/products/cpu_tile.h"

#define MAX_TAPS 49  /* 7x7 */
#define MAX_PHASES 4 /* stride 2 in both directions */

struct tap {
    int64_t dy;
    int64_t dx;
    int64_t weight; /* its place among the weights of a channel */
};

/* The taps that rows and columns of one phase of dst see. */
struct phase {
    struct tap taps[MAX_TAPS];
    int64_t count;
};

/* dst[i*dst_step + phase] = bias + sum over the phase's taps of w * src[i*src_step + shift]. */
struct depthwise {
    const struct cpu_tile *tile;
    struct eng_view src;
    struct eng_view dst; /* for the gradient of the weights: the gradient of the output */
    const struct eng_view *bias;
    const struct eng_view *gw;
    const float *w; /* [channels][weights] */
    int64_t weights;
    int64_t src_step[2];
    int64_t dst_step[2];
    struct phase phases[MAX_PHASES]; /* [dst_step[0]][dst_step[1]] */
    int64_t dy0;                     /* the smallest shifts */
    int64_t dx0;
    int64_t rows;   /* of src that a plane sees */
    int64_t pieces; /* of a row: columns that are src_step apart */
    int64_t width;  /* of a piece */
};

bool cpu_depthwise_fits(const struct cpu_conv *c)
{
    return c->num->dtype == VS_F32 && c->ci == 1 && c->co == 1 && c->groups > 1 &&
           c->taps <= MAX_TAPS && c->p.stride[0] <= 2 && c->p.stride[1] <= 2;
}

static int64_t phase_count(const struct depthwise *d)
{
    return d->dst_step[0] * d->dst_step[1];
}

static void shape(struct depthwise *d)
{
    int64_t low[2] = {INT64_MAX, INT64_MAX};
    int64_t high[2] = {INT64_MIN, INT64_MIN};
    int64_t rows = (d->dst.sizes[2] + d->dst_step[0] - 1) / d->dst_step[0];
    int64_t cols = (d->dst.sizes[3] + d->dst_step[1] - 1) / d->dst_step[1];

    d->tile = cpu_tile();
    for (int64_t f = 0; f < phase_count(d); f++) {
        for (int64_t t = 0; t < d->phases[f].count; t++) {
            const struct tap *tap = &d->phases[f].taps[t];

            low[0] = cpu_min(low[0], tap->dy);
            low[1] = cpu_min(low[1], tap->dx);
            high[0] = cpu_max(high[0], tap->dy);
            high[1] = cpu_max(high[1], tap->dx);
        }
    }
    d->dy0 = low[0];
    d->dx0 = low[1];
    d->rows = (rows - 1) * d->src_step[0] + high[0] - low[0] + 1;
    d->pieces = cpu_min(d->src_step[1], high[1] - low[1] + 1);
    d->width = cols + (high[1] - low[1]) / d->src_step[1];
}

/* One row of src as pieces, 0 outside. */
static void split_row(const struct depthwise *d, const char *row, float *out)
{
    int64_t w = d->src.sizes[3];
    int64_t step = d->src_step[1];
    int64_t stride = cpu_stride(&d->src, 3);

    for (int64_t f = 0; f < d->pieces; f++, out += d->width) {
        int64_t x0 = d->dx0 + f;
        int64_t lo = x0 >= 0 ? 0 : cpu_min((-x0 + step - 1) / step, d->width);
        int64_t hi = x0 >= w ? lo : cpu_max(lo, cpu_min(d->width, (w - x0 + step - 1) / step));

        memset(out, 0, (size_t)lo * sizeof(float));
        if (hi > lo)
            cpu_rows()->f32->load(d->src.dtype, row + (x0 + lo * step) * stride, step * stride,
                                  hi - lo, out + lo);
        memset(out + hi, 0, (size_t)(d->width - hi) * sizeof(float));
    }
}

/* The rows that the grid sees of plane (n, channel). */
static void split_plane(const struct depthwise *d, int64_t n, int64_t channel, float *out)
{
    const char *plane =
        (const char *)d->src.data + n * cpu_stride(&d->src, 0) + channel * cpu_stride(&d->src, 1);

    for (int64_t r = 0; r < d->rows; r++, out += d->pieces * d->width) {
        int64_t y = d->dy0 + r;

        if (y < 0 || y >= d->src.sizes[2])
            memset(out, 0, (size_t)(d->pieces * d->width) * sizeof(float));
        else
            split_row(d, plane + y * cpu_stride(&d->src, 2), out);
    }
    memset(out, 0, CPU_TILE_MAX_LANES * sizeof(float)); /* read by whole vectors */
}

/* What the taps of a phase see for its row i. */
static void tap_rows(const struct depthwise *d, const struct phase *phase, const float *rows,
                     int64_t i, const float **seen)
{
    for (int64_t t = 0; t < phase->count; t++) {
        int64_t x = phase->taps[t].dx - d->dx0;

        seen[t] = rows + (i * d->src_step[0] + phase->taps[t].dy - d->dy0) * d->pieces * d->width +
                  x % d->src_step[1] * d->width + x / d->src_step[1];
    }
}

/* Row y of dst. line: a buffer of two rows of dst. */
static void make_row(const struct depthwise *d, const float *w, float bias, const float *rows,
                     int64_t y, float *line, float *out)
{
    int64_t cols = d->dst.sizes[3];
    int64_t sw = d->dst_step[1];
    const float *seen[MAX_TAPS];
    float tap_weights[MAX_TAPS];

    for (int64_t px = 0; px < sw; px++) {
        const struct phase *phase = &d->phases[y % d->dst_step[0] * sw + px];
        int64_t n = (cols - px + sw - 1) / sw;
        float *to = sw == 1 ? out : line;

        tap_rows(d, phase, rows, y / d->dst_step[0], seen);
        for (int64_t t = 0; t < phase->count; t++)
            tap_weights[t] = w[phase->taps[t].weight];
        d->tile->taps(n, phase->count, seen, tap_weights, bias, to);
        for (int64_t i = 0; i < n && sw == 2; i++)
            out[2 * i + px] = line[i];
    }
}

static void plane_task(void *ctx, int64_t index)
{
    const struct depthwise *d = ctx;
    const struct eng_view *dst = &d->dst;
    int64_t channel = index % d->src.sizes[1];
    int64_t n = index / d->src.sizes[1];
    int64_t rows_floats = d->rows * d->pieces * d->width + CPU_TILE_MAX_LANES;
    uint64_t bytes = (uint64_t)(rows_floats + 2 * dst->sizes[3]) * sizeof(float);
    float *rows = cpu_mem_get(bytes);
    float *line = rows + rows_floats;
    bool direct = dst->dtype == VS_F32 && dst->strides[3] == 1;
    float bias = 0.0f;

    if (d->bias)
        bias = (float)cpu_get_f64(d->bias->dtype,
                                  (const char *)d->bias->data + channel * cpu_stride(d->bias, 0));
    split_plane(d, n, channel, rows);
    for (int64_t y = 0; y < dst->sizes[2]; y++) {
        char *p = (char *)dst->data + n * cpu_stride(dst, 0) + channel * cpu_stride(dst, 1) +
                  y * cpu_stride(dst, 2);
        float *out = direct ? (float *)(void *)p : line + dst->sizes[3];

        make_row(d, d->w + channel * d->weights, bias, rows, y, line, out);
        if (!direct)
            cpu_rows()->f32->store(out, dst->sizes[3], dst->dtype, p, cpu_stride(dst, 3));
    }
    cpu_mem_put(rows, bytes);
}

static void run(struct depthwise *d)
{
    shape(d);
    cpu_parallel(d->src.sizes[0] * d->src.sizes[1], plane_task, d);
}

/* Taps of the convolution as it is. */
static void forward_taps(const struct cpu_conv *c, struct depthwise *d)
{
    d->phases[0].count = c->taps;
    for (int k = 0; k < 2; k++) {
        d->src_step[k] = c->p.stride[k];
        d->dst_step[k] = 1;
    }
    for (int64_t t = 0; t < c->taps; t++)
        d->phases[0].taps[t] = (struct tap){t / c->kw * c->p.dilation[0] - c->p.padding[0],
                                            t % c->kw * c->p.dilation[1] - c->p.padding[1], t};
}

void cpu_depthwise_forward(const struct cpu_conv *c, const struct eng_view *x, struct cpu_mat w,
                           const struct eng_view *bias, const struct eng_view *y)
{
    struct depthwise d = {.src = *x, .dst = *y, .bias = bias, .w = w.data, .weights = c->taps};

    forward_taps(c, &d);
    run(&d);
}

void cpu_depthwise_input(const struct cpu_conv *c, const struct eng_view *g, struct cpu_mat w,
                         const struct eng_view *gx)
{
    const int64_t *stride = c->p.stride;
    struct depthwise d = {.src = *g,
                          .dst = *gx,
                          .w = w.data,
                          .weights = c->taps,
                          .src_step = {1, 1},
                          .dst_step = {stride[0], stride[1]}};

    for (int64_t f = 0; f < phase_count(&d); f++) {
        for (int64_t t = 0; t < c->taps; t++) {
            int64_t y = f / stride[1] + c->p.padding[0] - t / c->kw * c->p.dilation[0];
            int64_t x = f % stride[1] + c->p.padding[1] - t % c->kw * c->p.dilation[1];

            if (y % stride[0] == 0 && x % stride[1] == 0)
                d.phases[f].taps[d.phases[f].count++] =
                    (struct tap){y / stride[0], x / stride[1], t};
        }
    }
    run(&d);
}

/* One channel, all images; sums of an image in float lanes, of images in double. */
static void weight_task(void *ctx, int64_t channel)
{
    const struct depthwise *d = ctx;
    const struct eng_view *g = &d->dst;
    int64_t taps = d->phases[0].count;
    int64_t rows_floats = d->rows * d->pieces * d->width + CPU_TILE_MAX_LANES;
    uint64_t bytes = (uint64_t)(rows_floats + g->sizes[3]) * sizeof(float);
    float *rows = cpu_mem_get(bytes);
    float acc[MAX_TAPS * CPU_TILE_MAX_LANES];
    double sums[MAX_TAPS] = {0.0};
    const float *seen[MAX_TAPS];

    for (int64_t n = 0; n < d->src.sizes[0]; n++) {
        split_plane(d, n, channel, rows);
        memset(acc, 0, sizeof(acc));
        for (int64_t y = 0; y < g->sizes[2]; y++) {
            const char *p = (const char *)g->data + n * cpu_stride(g, 0) +
                            channel * cpu_stride(g, 1) + y * cpu_stride(g, 2);

            tap_rows(d, &d->phases[0], rows, y, seen);
            d->tile->taps_back(g->sizes[3], taps, seen,
                               cpu_read(cpu_rows()->f32, g->dtype, p, cpu_stride(g, 3), g->sizes[3],
                                        rows + rows_floats),
                               acc);
        }
        for (int64_t t = 0; t < taps; t++) {
            for (int64_t l = 0; l < d->tile->lanes; l++)
                sums[t] += (double)acc[t * d->tile->lanes + l];
        }
    }
    for (int64_t t = 0; t < taps; t++)
        cpu_set_f64(d->gw->dtype,
                    (char *)d->gw->data + channel * cpu_stride(d->gw, 0) +
                        t / d->gw->sizes[3] * cpu_stride(d->gw, 2) +
                        t % d->gw->sizes[3] * cpu_stride(d->gw, 3),
                    sums[t]);
    cpu_mem_put(rows, bytes);
}

void cpu_depthwise_weight(const struct cpu_conv *c, const struct eng_view *g,
                          const struct eng_view *x, const struct eng_view *gw)
{
    struct depthwise d = {.src = *x, .dst = *g, .gw = gw, .weights = c->taps};

    forward_taps(c, &d);
    shape(&d);
    cpu_parallel(c->groups, weight_task, &d);
}
