/*
 * engine/device/cpu/products/cpu_conv.c - convolution forward and its two gradients, as products with a matrix of
 * patches.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  autograd.
 * Invariant:      scratch memory is one tile of the patch matrix per thread (about TILE_BYTES) and, for weights that
 *                 are not contiguous, one copy of them. Tiles and their order are fixed by shapes alone.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/products/cpu_conv_internal.h"
#include "engine/device/cpu/products/cpu_conv_winograd.h"

#define TILE_BYTES (1 << 20) /* of patches: about L2 */

struct conv_job {
    struct cpu_conv c;
    struct eng_view x;
    struct eng_view y; /* the output of forward, or its gradient */
    const struct eng_view *bias;
    struct eng_view gw;
    struct cpu_mat weights;
    int64_t tile;  /* positions of a tile */
    int64_t tiles; /* of an image */
    int64_t block; /* input channels of a task */
    int64_t blocks;
    int64_t splits; /* parts that the images are cut into for the gradient of the weights */
    char *partial;
};

static struct cpu_mat mat_at(const struct cpu_num *num, struct cpu_mat m, int64_t row, int64_t col)
{
    m.data = (char *)m.data + (size_t)(row * m.row_stride + col * m.col_stride) * num->size;
    return m;
}

static char *plane_of(const struct eng_view *v, int64_t n, int64_t channel)
{
    return (char *)v->data + n * cpu_stride(v, 0) + channel * cpu_stride(v, 1);
}

/* Positions first … of `channels` planes of v as a matrix: v itself where it is flat, else read into buf. */
static struct cpu_mat planes_read(const struct cpu_conv *c, const struct eng_view *v, int64_t n,
                                  int64_t channel, int64_t channels, int64_t first, int64_t count,
                                  char *buf)
{
    const struct cpu_num *num = c->num;
    int64_t width = v->sizes[3];

    if (cpu_conv_is_flat(num, v) && (channels == 1 || v->strides[1] >= count))
        return (struct cpu_mat){plane_of(v, n, channel) + (size_t)first * num->size,
                                channels == 1 ? count : v->strides[1], 1};
    for (int64_t i = 0; i < channels; i++) {
        char *dst = buf + (size_t)(i * count) * num->size;

        for (int64_t at = first; at < first + count;) {
            int64_t m = cpu_min(width - at % width, first + count - at);

            num->load(v->dtype,
                      plane_of(v, n, channel + i) + at / width * cpu_stride(v, 2) +
                          at % width * cpu_stride(v, 3),
                      cpu_stride(v, 3), m, dst);
            dst += (size_t)m * num->size;
            at += m;
        }
    }
    return (struct cpu_mat){buf, count, 1};
}

/* Writes `channels` rows of `count` numbers to positions first … of the planes of v. */
static void planes_write(const struct cpu_conv *c, const struct eng_view *v, int64_t n,
                         int64_t channel, int64_t channels, int64_t first, int64_t count,
                         const char *buf)
{
    int64_t width = v->sizes[3];

    for (int64_t i = 0; i < channels; i++) {
        for (int64_t at = first; at < first + count;) {
            int64_t m = cpu_min(width - at % width, first + count - at);

            c->num->store(buf, m, v->dtype,
                          plane_of(v, n, channel + i) + at / width * cpu_stride(v, 2) +
                              at % width * cpu_stride(v, 3),
                          cpu_stride(v, 3));
            buf += (size_t)m * c->num->size;
            at += m;
        }
    }
}

/* Positions of a tile so that `rows` rows of them take about TILE_BYTES. */
static int64_t tile_positions(const struct cpu_conv *c, int64_t rows)
{
    int64_t tile = TILE_BYTES / (int64_t)c->num->size / cpu_max(rows, 1);

    tile = cpu_max(tile / 16 * 16, 64);
    return cpu_max(1, cpu_min(tile, c->positions));
}

/* ---- forward ---- */

static void add_bias(const struct conv_job *j, int64_t channel, int64_t count, struct cpu_mat m)
{
    const struct cpu_num *num = j->c.num;
    int64_t buf[CPU_CHUNK];

    if (!j->bias)
        return;
    for (int64_t i = 0; i < j->c.co; i++) {
        double b = cpu_get_f64(j->bias->dtype, (const char *)j->bias->data +
                                                   (channel + i) * cpu_stride(j->bias, 0));

        for (int64_t at = 0; at < count; at += CPU_CHUNK) {
            int64_t k = cpu_min(CPU_CHUNK, count - at);
            char *p = mat_at(num, m, i, at).data;

            num->affine(k, p, 1.0, b, buf);
            memcpy(p, buf, (size_t)k * num->size);
        }
    }
}

static void forward_tile(void *ctx, int64_t task)
{
    const struct conv_job *j = ctx;
    const struct cpu_conv *c = &j->c;
    int64_t first = task % j->tiles * j->tile;
    int64_t group = task / j->tiles % c->groups;
    int64_t n = task / j->tiles / c->groups;
    int64_t count = cpu_min(j->tile, c->positions - first);
    int64_t depth = c->ci * c->taps;
    size_t col_bytes = (size_t)(depth * count) * c->num->size;
    size_t bytes = col_bytes + (size_t)(c->co * count) * c->num->size;
    char *scratch = cpu_mem_get(bytes);
    bool flat = cpu_conv_is_flat(c->num, &j->y) && (c->co == 1 || j->y.strides[1] >= c->positions);
    struct cpu_mat col = {scratch, count, 1};
    struct cpu_mat dst = {scratch + col_bytes, count, 1};

    if (c->is_pointwise)
        col = planes_read(c, &j->x, n, group * c->ci, c->ci, first, count, scratch);
    else
        cpu_conv_patches(c, &j->x, n, group * c->ci, c->ci, first, count, scratch);
    if (flat)
        dst = (struct cpu_mat){plane_of(&j->y, n, group * c->co) + (size_t)first * c->num->size,
                               j->y.strides[1], 1};
    if (c->co == 1)
        dst.row_stride = count;
    cpu_gemm(c->num->dtype == VS_F64, c->co, count, depth, 1.0,
             mat_at(c->num, j->weights, group * c->co, 0), col, 0.0, dst);
    add_bias(j, group * c->co, count, dst);
    if (!flat)
        planes_write(c, &j->y, n, group * c->co, c->co, first, count, dst.data);
    cpu_mem_put(scratch, bytes);
}

void cpu_conv2d(const struct eng_view *x, const struct eng_view *w, const struct eng_view *bias,
                const struct eng_view *out, const struct eng_conv2d *p)
{
    struct conv_job j = {.x = *x, .y = *out, .bias = bias};
    void *scratch;
    uint64_t bytes;

    cpu_conv_init(&j.c, x, w, out, p);
    if (cpu_numel(out) == 0)
        return;
    j.weights = cpu_conv_weights(j.c.num, w, &scratch, &bytes);
    if (cpu_winograd_fits(&j.c)) {
        cpu_winograd_forward(&j.c, x, j.weights, bias, out);
    } else if (cpu_depthwise_fits(&j.c)) {
        cpu_depthwise_forward(&j.c, x, j.weights, bias, out);
    } else {
        j.tile = tile_positions(&j.c, j.c.ci * j.c.taps);
        j.tiles = (j.c.positions + j.tile - 1) / j.tile;
        cpu_parallel(j.c.batch * j.c.groups * j.tiles, forward_tile, &j);
    }
    if (scratch)
        cpu_mem_put(scratch, bytes);
}

/* ---- gradient of the input ---- */

/* A tile of a 1x1 convolution's input: w' g, without patches. */
static void input_pointwise(void *ctx, int64_t task)
{
    const struct conv_job *j = ctx;
    const struct cpu_conv *c = &j->c;
    const struct cpu_num *num = c->num;
    int64_t first = task % j->tiles * j->tile;
    int64_t group = task / j->tiles % c->groups;
    int64_t n = task / j->tiles / c->groups;
    int64_t count = cpu_min(j->tile, c->positions - first);
    size_t g_bytes = (size_t)(c->co * count) * num->size;
    size_t bytes = g_bytes + (size_t)(c->ci * count) * num->size;
    char *scratch = cpu_mem_get(bytes);
    bool flat = cpu_conv_is_flat(num, &j->x) && (c->ci == 1 || j->x.strides[1] >= c->positions);
    struct cpu_mat w = mat_at(num, j->weights, group * c->co, 0);
    struct cpu_mat wt = {w.data, w.col_stride, w.row_stride};
    struct cpu_mat g = planes_read(c, &j->y, n, group * c->co, c->co, first, count, scratch);
    struct cpu_mat dst = {scratch + g_bytes, count, 1};

    if (flat)
        dst = (struct cpu_mat){plane_of(&j->x, n, group * c->ci) + (size_t)first * num->size,
                               c->ci == 1 ? count : j->x.strides[1], 1};
    cpu_gemm(num->dtype == VS_F64, c->ci, count, c->co, 1.0, wt, g, 0.0, dst);
    if (!flat)
        planes_write(c, &j->x, n, group * c->ci, c->ci, first, count, dst.data);
    cpu_mem_put(scratch, bytes);
}

/* Input channels of one block of one group of one image. */
static void input_block(void *ctx, int64_t task)
{
    const struct conv_job *j = ctx;
    const struct cpu_conv *c = &j->c;
    const struct cpu_num *num = c->num;
    int64_t ci = task % j->blocks * j->block;
    int64_t group = task / j->blocks % c->groups;
    int64_t n = task / j->blocks / c->groups;
    int64_t channels = cpu_min(j->block, c->ci - ci);
    int64_t rows = channels * c->taps;
    size_t planes_bytes = (size_t)(channels * c->h * c->w) * num->size;
    size_t col_bytes = (size_t)(rows * j->tile) * num->size;
    size_t bytes = planes_bytes + col_bytes + (size_t)(c->co * j->tile) * num->size;
    char *planes = cpu_mem_get(bytes);
    struct cpu_mat w = mat_at(num, j->weights, group * c->co, ci * c->taps);
    struct cpu_mat wt = {w.data, w.col_stride, w.row_stride};

    memset(planes, 0, planes_bytes);
    for (int64_t first = 0; first < c->positions; first += j->tile) {
        int64_t count = cpu_min(j->tile, c->positions - first);
        struct cpu_mat col = {planes + planes_bytes, count, 1};
        struct cpu_mat g = planes_read(c, &j->y, n, group * c->co, c->co, first, count,
                                       planes + planes_bytes + col_bytes);

        cpu_gemm(num->dtype == VS_F64, rows, count, c->co, 1.0, wt, g, 0.0, col);
        cpu_conv_add_patches(c, col.data, channels, first, count, planes);
    }
    planes_write(c, &j->x, n, group * c->ci + ci, channels, 0, c->h * c->w, planes);
    cpu_mem_put(planes, bytes);
}

void cpu_conv2d_backward_input(const struct eng_view *g, const struct eng_view *w,
                               const struct eng_view *gx, const struct eng_conv2d *p)
{
    struct conv_job j = {.x = *gx, .y = *g};
    struct eng_scalar zero = {.is_int = false};
    void *scratch;
    uint64_t bytes;

    cpu_conv_init(&j.c, gx, w, g, p);
    if (cpu_numel(gx) == 0)
        return;
    if (cpu_numel(g) == 0) {
        cpu_fill(gx, zero);
        return;
    }
    j.weights = cpu_conv_weights(j.c.num, w, &scratch, &bytes);
    if (cpu_winograd_fits(&j.c)) {
        cpu_winograd_input(&j.c, g, j.weights, gx);
    } else if (cpu_depthwise_fits(&j.c)) {
        cpu_depthwise_input(&j.c, g, j.weights, gx);
    } else if (j.c.is_pointwise) {
        j.tile = tile_positions(&j.c, j.c.co);
        j.tiles = (j.c.positions + j.tile - 1) / j.tile;
        cpu_parallel(j.c.batch * j.c.groups * j.tiles, input_pointwise, &j);
    } else {
        /* channels so that the planes of a block take about half a tile */
        j.block =
            cpu_min(j.c.ci, cpu_max(1, TILE_BYTES / 2 / (int64_t)j.c.num->size / (j.c.h * j.c.w)));
        j.block = cpu_max(1, cpu_min(j.block, 576 / j.c.taps));
        j.blocks = (j.c.ci + j.block - 1) / j.block;
        j.tile = tile_positions(&j.c, j.block * j.c.taps);
        cpu_parallel(j.c.batch * j.c.groups * j.blocks, input_block, &j);
    }
    if (scratch)
        cpu_mem_put(scratch, bytes);
}

/* ---- gradient of the weights ---- */

static void weight_block(void *ctx, int64_t task)
{
    const struct conv_job *j = ctx;
    const struct cpu_conv *c = &j->c;
    const struct cpu_num *num = c->num;
    int64_t ci = task % j->blocks * j->block;
    int64_t group = task / j->blocks % c->groups;
    int64_t split = task / j->blocks / c->groups;
    int64_t channels = cpu_min(j->block, c->ci - ci);
    int64_t rows = channels * c->taps;
    int64_t n0 = split * c->batch / j->splits;
    int64_t n1 = (split + 1) * c->batch / j->splits;
    size_t col_bytes = (size_t)(rows * j->tile) * num->size;
    size_t bytes = col_bytes + (size_t)(c->co * j->tile) * num->size;
    char *scratch = cpu_mem_get(bytes);
    struct cpu_mat all = {j->partial, c->ci * c->taps, 1};
    struct cpu_mat dst = mat_at(num, all, (split * c->groups + group) * c->co, ci * c->taps);
    double beta = 0.0;

    for (int64_t n = n0; n < n1; n++) {
        for (int64_t first = 0; first < c->positions; first += j->tile) {
            int64_t count = cpu_min(j->tile, c->positions - first);
            struct cpu_mat col = {scratch, count, 1};
            struct cpu_mat colt;
            struct cpu_mat g =
                planes_read(c, &j->y, n, group * c->co, c->co, first, count, scratch + col_bytes);

            if (c->is_pointwise)
                col = planes_read(c, &j->x, n, group * c->ci + ci, channels, first, count, scratch);
            else
                cpu_conv_patches(c, &j->x, n, group * c->ci + ci, channels, first, count, scratch);
            colt = (struct cpu_mat){col.data, col.col_stride, col.row_stride};
            cpu_gemm(num->dtype == VS_F64, c->co, rows, count, 1.0, g, colt, beta, dst);
            beta = 1.0;
        }
    }
    cpu_mem_put(scratch, bytes);
}

/* Adds the parts and writes the gradient. */
static void weight_finish(const struct conv_job *j)
{
    const struct cpu_conv *c = &j->c;
    int64_t row = c->ci * c->taps;
    int64_t total = c->groups * c->co * row;
    struct eng_view sum = j->gw;

    for (int64_t s = 1; s < j->splits; s++)
        c->num->axpy(total, j->partial + (size_t)(s * total) * c->num->size, 1.0, j->partial);
    sum.data = j->partial;
    sum.dtype = c->num->dtype;
    sum.strides[0] = row;
    sum.strides[1] = c->taps;
    sum.strides[2] = c->kw;
    sum.strides[3] = 1;
    cpu_copy(&sum, &j->gw);
}

void cpu_conv2d_backward_weight(const struct eng_view *g, const struct eng_view *x,
                                const struct eng_view *gw, const struct eng_conv2d *p)
{
    struct conv_job j = {.x = *x, .y = *g, .gw = *gw};
    struct eng_scalar zero = {.is_int = false};
    uint64_t bytes;

    cpu_conv_init(&j.c, x, gw, g, p);
    if (cpu_numel(gw) == 0)
        return;
    if (cpu_numel(g) == 0) {
        cpu_fill(gw, zero);
        return;
    }
    if (cpu_winograd_fits(&j.c)) {
        cpu_winograd_weight(&j.c, g, x, gw);
        return;
    }
    if (cpu_depthwise_fits(&j.c)) {
        cpu_depthwise_weight(&j.c, g, x, gw);
        return;
    }
    j.block = cpu_min(j.c.ci, cpu_max(1, 288 / j.c.taps));
    j.blocks = (j.c.ci + j.block - 1) / j.block;
    j.splits = j.blocks * j.c.groups >= 4 ? 1 : cpu_min(j.c.batch, 4);
    j.tile = tile_positions(&j.c, j.block * j.c.taps);
    bytes = (uint64_t)(j.splits * cpu_numel(gw)) * j.c.num->size;
    j.partial = cpu_mem_get(bytes);
    cpu_parallel(j.blocks * j.c.groups * j.splits, weight_block, &j);
    weight_finish(&j);
    cpu_mem_put(j.partial, bytes);
}
