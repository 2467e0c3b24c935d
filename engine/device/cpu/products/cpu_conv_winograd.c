/*
 * engine/device/cpu/products/cpu_conv_winograd.c - 3x3 convolutions of stride 1 by Winograd's F(2x2, 3x3), and the
 * gradient of their input, which is the same operation with the weights rotated by 180 degrees.
 *
 * Steps, for a few rows of tiles at a time: transform the input into 16 matrices V[channels][tiles], multiply each by
 * the matrix U[outputs][channels] of transformed weights, transform the products back. All are packed as cpu_tile's
 * gemm needs them. With few channels, a task does all steps for its rows. With many, U is larger than the caches: then
 * the tasks share V of a block of rows and each computes some of the outputs, so that U is read once per block.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/products/cpu_conv_winograd.h"
#include "engine/device/cpu/products/cpu_subnormal.h"
#include "engine/device/cpu/products/cpu_tile.h"

#define V_BYTES (1 << 20)      /* transformed input of a task, about */
#define SHARED_BYTES (8 << 20) /* transformed input that is shared */
#define SHARED_CHANNELS 192    /* from so many on it is shared */
#define M_BYTES (512 << 10)    /* products of a task, about */
#define MIN_CHANNELS 12        /* below, the transforms cost more than they save */
#define FILTERS 16             /* input channels whose weights are transformed at a time */

struct wino {
    const struct cpu_tile *tile;
    const struct eng_view *x;
    const struct eng_view *y;
    const struct eng_view *bias;
    int64_t pad_h;
    int64_t pad_w;
    int64_t ci;      /* channels of x */
    int64_t co;      /* channels of y */
    int64_t ty;      /* rows of tiles of a plane */
    int64_t tx;      /* tiles of a row */
    int64_t total;   /* rows of tiles, all images */
    int64_t rows;    /* of a block */
    int64_t columns; /* panels of nr tiles that a block has */
    int64_t panels;  /* of mr outputs */
    int64_t group;   /* panels of outputs multiplied at a time */
    int64_t half;    /* floats of the even columns of a row, slack for whole vectors included */
    int64_t stride;  /* of a position of one transformed channel, likewise */
    int64_t pitch;   /* of a row of products; no multiple of 4 KiB, as 16 are read together */
    const float *w;
    int64_t w_out; /* distance of the weights of neighbouring outputs, inputs */
    int64_t w_in;
    bool turned;
    bool shared;
    float *u; /* [16][panels][ci][mr] */
    float *v; /* [16][columns][ci][nr], where shared */
    int64_t first;
};

bool cpu_winograd_fits(const struct cpu_conv *c)
{
    const struct eng_conv2d *p = &c->p;

    return c->num->dtype == VS_F32 && c->groups == 1 && c->kh == 3 && c->kw == 3 &&
           p->stride[0] == 1 && p->stride[1] == 1 && p->dilation[0] == 1 && p->dilation[1] == 1 &&
           p->padding[0] <= 2 && p->padding[1] <= 2 && c->ci >= MIN_CHANNELS &&
           c->co >= MIN_CHANNELS && c->ho >= 2 && c->wo >= 2 && c->h >= 2 && c->w >= 2;
}

/* ---- weights ---- */

/* One panel of mr outputs. */
static void weights_panel(void *ctx, int64_t panel)
{
    const struct wino *j = ctx;
    int64_t mr = j->tile->mr;
    float w[9 * FILTERS * CPU_TILE_MAX_MR];
    int64_t outs = cpu_min(mr, j->co - panel * mr);

    memset(w, 0, sizeof(w));
    for (int64_t c = 0; c < j->ci; c += FILTERS) {
        int64_t n = cpu_min(FILTERS, j->ci - c);

        for (int64_t o = 0; o < outs; o++) {
            const float *f = j->w + (panel * mr + o) * j->w_out + c * j->w_in;

            for (int64_t i = 0; i < n; i++) {
                for (int64_t t = 0; t < 9; t++)
                    w[(t * n + i) * mr + o] = f[i * j->w_in + (j->turned ? 8 - t : t)];
            }
        }
        j->tile->wino_weight(n * mr, w, j->u + (panel * j->ci + c) * mr, j->panels * j->ci * mr);
    }
}

/* ---- input ---- */

/* half[i] = row[2i + shift], 0 where that is outside of [0, w). */
static void every_other(const float *row, int64_t w, int64_t shift, int64_t n, float *half)
{
    int64_t lo = shift >= 0 ? 0 : cpu_min((1 - shift) / 2, n);
    int64_t hi = cpu_max(lo, cpu_min(n, (w - shift + 1) / 2));

    for (int64_t i = 0; i < lo; i++)
        half[i] = 0.0f;
    for (int64_t i = lo; i < hi; i++)
        half[i] = row[2 * i + shift];
    for (int64_t i = hi; i < n; i++)
        half[i] = 0.0f;
}

/* Rows y0 … y0+count-1 of one plane (some may lie outside) as even and odd columns. */
static void split_rows(const struct wino *j, const char *plane, int64_t y0, int64_t count,
                       float *even, float *odd, float *row)
{
    const struct eng_view *x = j->x;
    int64_t w = x->sizes[3];

    for (int64_t r = 0; r < count; r++) {
        const float *src;

        if (y0 + r < 0 || y0 + r >= x->sizes[2]) {
            memset(even + r * j->half, 0, (size_t)j->half * sizeof(float));
            memset(odd + r * j->half, 0, (size_t)j->half * sizeof(float));
            continue;
        }
        src = cpu_read(cpu_rows()->f32, x->dtype, plane + (y0 + r) * cpu_stride(x, 2),
                       cpu_stride(x, 3), w, row);
        every_other(src, w, -j->pad_w, j->half, even + r * j->half);
        every_other(src, w, 1 - j->pad_w, j->half, odd + r * j->half);
    }
}

/* Floats of scratch for transform_channel. */
static int64_t scratch_floats(const struct wino *j)
{
    return 2 * (2 * j->rows + 2) * j->half + j->x->sizes[3] + 16 * j->stride;
}

/* Rows first … of tiles of one channel into v. */
static void transform_channel(const struct wino *j, int64_t c, int64_t first, int64_t rows,
                              float *scratch, float *v)
{
    int64_t nr = j->tile->nr;
    int64_t columns = (rows * j->tx + nr - 1) / nr;
    int64_t half = (2 * j->rows + 2) * j->half;
    float *line = scratch + 2 * half + j->x->sizes[3];
    int64_t done = 0;

    while (done < rows) { /* what lies in one plane */
        int64_t n = (first + done) / j->ty;
        int64_t y = (first + done) % j->ty;
        int64_t here = cpu_min(rows - done, j->ty - y);

        split_rows(j, (const char *)j->x->data + n * cpu_stride(j->x, 0) + c * cpu_stride(j->x, 1),
                   2 * y - j->pad_h, 2 * here + 2, scratch, scratch + half, scratch + 2 * half);
        for (int64_t r = 0; r < here; r++)
            j->tile->wino_input(j->tx, scratch + 2 * r * j->half, scratch + half + 2 * r * j->half,
                                j->half, line + (done + r) * j->tx, j->stride);
        done += here;
    }
    for (int64_t k = 0; k < 16; k++) {
        for (int64_t q = 0; q < columns; q++)
            memcpy(v + ((k * j->columns + q) * j->ci + c) * nr, line + k * j->stride + q * nr,
                   (size_t)nr * sizeof(float));
    }
}

/* ---- products and output ---- */

/* m[16][group*mr][pitch] = products of panels a … of outputs with all tiles of v. */
static void multiply(const struct wino *j, int64_t rows, int64_t a, int64_t count, const float *v,
                     float *m)
{
    int64_t nr = j->tile->nr;
    int64_t mr = j->tile->mr;
    int64_t columns = (rows * j->tx + nr - 1) / nr;
    uint64_t mode = cpu_subnormal_begin();

    for (int64_t k = 0; k < 16; k++) {
        for (int64_t i = 0; i < count; i++) {
            const float *u = j->u + (k * j->panels + a + i) * j->ci * mr;

            for (int64_t q = 0; q < columns; q++)
                j->tile->gemm(j->co - (a + i) * mr, j->ci, u, v + (k * j->columns + q) * j->ci * nr,
                              m + (k * j->group + i) * mr * j->pitch + q * nr, j->pitch, false);
        }
    }
    cpu_subnormal_end(mode);
}

/* One output channel, m its products; line is two rows of y. */
static void output_channel(const struct wino *j, int64_t c, int64_t first, int64_t rows,
                           const float *m, float *line)
{
    const struct cpu_num *num = cpu_rows()->f32;
    const struct eng_view *y = j->y;
    int64_t stride = j->group * j->tile->mr * j->pitch;
    int64_t wo = y->sizes[3];
    bool direct = y->dtype == VS_F32 && y->strides[3] == 1 && wo == 2 * j->tx;
    double bias = 0.0;

    if (j->bias)
        bias =
            cpu_get_f64(j->bias->dtype, (const char *)j->bias->data + c * cpu_stride(j->bias, 0));
    for (int64_t r = 0; r < rows; r++) {
        int64_t oy = (first + r) % j->ty * 2;
        char *dst = (char *)y->data + (first + r) / j->ty * cpu_stride(y, 0) +
                    c * cpu_stride(y, 1) + oy * cpu_stride(y, 2);
        bool both = oy + 1 < y->sizes[2];
        float *y0 = direct ? (float *)(void *)dst : line;
        float *y1 = direct && both ? (float *)(void *)(dst + cpu_stride(y, 2)) : line + 2 * j->tx;

        j->tile->wino_output(j->tx, m + r * j->tx, stride, (float)bias, y0, y1);
        if (direct)
            continue;
        num->store(y0, wo, y->dtype, dst, cpu_stride(y, 3));
        if (both)
            num->store(y1, wo, y->dtype, dst + cpu_stride(y, 2), cpu_stride(y, 3));
    }
}

/* Panels a … of outputs of a block; m is scratch for products and two rows. */
static void output_group(const struct wino *j, int64_t first, int64_t rows, int64_t a,
                         const float *v, float *m)
{
    int64_t mr = j->tile->mr;
    int64_t count = cpu_min(j->group, j->panels - a);
    int64_t end = cpu_min((a + count) * mr, j->co);

    multiply(j, rows, a, count, v, m);
    for (int64_t c = a * mr; c < end; c++)
        output_channel(j, c, first, rows, m + (c - a * mr) * j->pitch,
                       m + 16 * j->group * mr * j->pitch);
}

static int64_t v_floats(const struct wino *j)
{
    return 16 * j->columns * j->ci * j->tile->nr;
}

static int64_t m_floats(const struct wino *j)
{
    return 16 * j->group * j->tile->mr * j->pitch + 4 * j->tx;
}

/* ---- tasks ---- */

/* Task: a block of rows, all of it. */
static void block_task(void *ctx, int64_t task)
{
    const struct wino *j = ctx;
    int64_t first = task * j->rows;
    int64_t rows = cpu_min(j->rows, j->total - first);
    uint64_t bytes = (uint64_t)(v_floats(j) + m_floats(j) + scratch_floats(j)) * sizeof(float);
    float *v = cpu_mem_get(bytes);
    float *m = v + v_floats(j);
    float *scratch = m + m_floats(j);

    memset(scratch, 0, (size_t)scratch_floats(j) * sizeof(float));
    for (int64_t c = 0; c < j->ci; c++)
        transform_channel(j, c, first, rows, scratch, v);
    for (int64_t a = 0; a < j->panels; a += j->group)
        output_group(j, first, rows, a, v, m);
    cpu_mem_put(v, bytes);
}

#define CHANNELS 8 /* of a task of the shared transform */

/* Task: a few channels of the shared block. */
static void shared_input_task(void *ctx, int64_t task)
{
    const struct wino *j = ctx;
    int64_t end = cpu_min((task + 1) * CHANNELS, j->ci);
    uint64_t bytes = (uint64_t)scratch_floats(j) * sizeof(float);
    float *scratch = cpu_mem_get(bytes);

    memset(scratch, 0, bytes);
    for (int64_t c = task * CHANNELS; c < end; c++)
        transform_channel(j, c, j->first, cpu_min(j->rows, j->total - j->first), scratch, j->v);
    cpu_mem_put(scratch, bytes);
}

/* Task: a group of outputs of the shared block. */
static void shared_output_task(void *ctx, int64_t task)
{
    const struct wino *j = ctx;
    uint64_t bytes = (uint64_t)m_floats(j) * sizeof(float);
    float *m = cpu_mem_get(bytes);

    output_group(j, j->first, cpu_min(j->rows, j->total - j->first), task * j->group, j->v, m);
    cpu_mem_put(m, bytes);
}

static void run_shared(struct wino *j)
{
    uint64_t bytes = (uint64_t)v_floats(j) * sizeof(float);

    j->v = cpu_mem_get(bytes);
    for (j->first = 0; j->first < j->total; j->first += j->rows) {
        cpu_parallel((j->ci + CHANNELS - 1) / CHANNELS, shared_input_task, j);
        cpu_parallel((j->panels + j->group - 1) / j->group, shared_output_task, j);
    }
    cpu_mem_put(j->v, bytes);
}

/* Rows of tiles for a block of at most `tiles`; of the larger half of those, one that wastes few columns. */
static int64_t rows_of_block(const struct wino *j, int64_t tiles, int64_t at_most)
{
    int64_t nr = j->tile->nr;
    int64_t most = cpu_max(1, cpu_min(tiles / j->tx, at_most));
    int64_t best = most;

    for (int64_t r = most; r >= (most + 1) / 2; r--) {
        int64_t t = r * j->tx;
        int64_t b = best * j->tx;

        if (t * ((b + nr - 1) / nr) > b * ((t + nr - 1) / nr))
            best = r;
    }
    return best;
}

static void run(struct wino *j)
{
    int64_t nr;
    int64_t mr;
    uint64_t bytes;

    j->tile = cpu_tile();
    nr = j->tile->nr;
    mr = j->tile->mr;
    j->ty = (j->y->sizes[2] + 1) / 2;
    j->tx = (j->y->sizes[3] + 1) / 2;
    j->total = j->y->sizes[0] * j->ty;
    j->shared = j->ci >= SHARED_CHANNELS;
    if (j->shared)
        j->rows = rows_of_block(j, cpu_max(2 * nr, SHARED_BYTES / 64 / j->ci), j->total);
    else
        j->rows = rows_of_block(j, cpu_min(256, cpu_max(2 * nr, V_BYTES / 64 / j->ci)),
                                (j->total + 7) / 8);
    j->panels = (j->co + mr - 1) / mr;
    j->columns = (j->rows * j->tx + nr - 1) / nr;
    j->half = j->tx + 1 + CPU_TILE_MAX_LANES;
    j->stride = j->columns * nr + CPU_TILE_MAX_LANES;
    j->pitch = j->columns * nr + CPU_TILE_MAX_LANES;
    j->group = cpu_max(1, cpu_min(j->panels, M_BYTES / 64 / (j->pitch * mr)));
    bytes = (uint64_t)(16 * j->panels * mr * j->ci) * sizeof(float);
    j->u = cpu_mem_get(bytes);
    cpu_parallel(j->panels, weights_panel, j);
    if (j->shared)
        run_shared(j);
    else
        cpu_parallel((j->total + j->rows - 1) / j->rows, block_task, j);
    cpu_mem_put(j->u, bytes);
}

void cpu_winograd_forward(const struct cpu_conv *c, const struct eng_view *x, struct cpu_mat w,
                          const struct eng_view *bias, const struct eng_view *y)
{
    struct wino j = {.x = x,
                     .y = y,
                     .bias = bias,
                     .pad_h = c->p.padding[0],
                     .pad_w = c->p.padding[1],
                     .ci = c->ci,
                     .co = c->co,
                     .w = w.data,
                     .w_out = w.row_stride,
                     .w_in = 9};

    run(&j);
}

void cpu_winograd_input(const struct cpu_conv *c, const struct eng_view *g, struct cpu_mat w,
                        const struct eng_view *gx)
{
    struct wino j = {.x = g,
                     .y = gx,
                     .pad_h = 2 - c->p.padding[0],
                     .pad_w = 2 - c->p.padding[1],
                     .ci = c->co,
                     .co = c->ci,
                     .w = w.data,
                     .w_out = 9,
                     .w_in = w.row_stride,
                     .turned = true};

    run(&j);
}
