/*
 * engine/device/cpu/products/cpu_conv_wino_weight.c - the gradient of the weights of a 3x3 convolution of stride 1 by
 * Winograd's transforms.
 *
 * Steps, for a few rows of tiles at a time: transform the input into V[16][ci/nr][tiles][nr] and the gradient into
 * G[16][co/mr][tiles][mr], add the products over tiles to C[16][co][ci]; at the end transform C back. The transforms
 * work on a vector of channels side by side, which gives the memory order that gemm needs.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/products/cpu_conv_winograd.h"
#include "engine/device/cpu/products/cpu_subnormal.h"
#include "engine/device/cpu/products/cpu_tile.h"

#define BLOCK_BYTES                                                                                \
    (8 << 20)   /* V and G of a block of tiles, about; they are shared by the threads */
#define GROUP 4 /* panels of outputs of a task */

/* x or g, and the buffer for its transform. */
struct side {
    const struct eng_view *v;
    int64_t pad_h;
    int64_t pad_w;
    int64_t reach;   /* rows and columns that a tile sees: 4 or 2 */
    int64_t width;   /* channels of a panel: nr or mr */
    int64_t at_once; /* channels transformed together */
    int64_t parts;   /* so many cover all channels */
    int64_t panels;
    float *out; /* [16][panels][tiles][width] */
};

struct back {
    const struct cpu_tile *tile;
    struct side x;
    struct side g;
    const struct eng_view *gw;
    int64_t ci;
    int64_t co;
    int64_t ci_pad; /* of a row of C */
    int64_t co_pad;
    int64_t ty;
    int64_t tx;
    int64_t first; /* rows of tiles of this block */
    int64_t rows;
    int64_t most; /* capacity of a panel, in tiles */
    float *c;
};

static void side_init(struct side *s, const struct eng_view *v, int64_t pad_h, int64_t pad_w,
                      int64_t reach, int64_t width, int64_t lanes)
{
    s->v = v;
    s->pad_h = pad_h;
    s->pad_w = pad_w;
    s->reach = reach;
    s->width = width;
    s->at_once = cpu_min(width, lanes);
    s->panels = (v->sizes[1] + width - 1) / width;
    s->parts = s->panels * (width / s->at_once);
}

/* Rows of up to at_once channels side by side: out[(r*cols + column)*lanes + channel], 0 beyond the edges. */
static void gather(const struct back *b, const struct side *s, int64_t n, int64_t channel,
                   int64_t y0, int64_t count, int64_t cols, float *out, float *row)
{
    int64_t lanes = b->tile->lanes;
    int64_t channels = cpu_min(s->at_once, s->v->sizes[1] - channel);
    int64_t from = cpu_max(0, s->pad_w);
    int64_t to = cpu_min(cols, s->v->sizes[3] + s->pad_w);

    memset(out, 0, (size_t)(count * cols * lanes) * sizeof(float));
    for (int64_t i = 0; i < channels; i++) {
        const char *plane = (const char *)s->v->data + n * cpu_stride(s->v, 0) +
                            (channel + i) * cpu_stride(s->v, 1);

        for (int64_t r = 0; r < count; r++) {
            int64_t y = y0 + r;
            const float *src;
            float *dst = out + r * cols * lanes + i;

            if (y < 0 || y >= s->v->sizes[2])
                continue;
            src = cpu_read(cpu_rows()->f32, s->v->dtype, plane + y * cpu_stride(s->v, 2),
                           cpu_stride(s->v, 3), s->v->sizes[3], row);
            for (int64_t x = from; x < to; x++)
                dst[x * lanes] = src[x - s->pad_w];
        }
    }
}

/* Channels from part*at_once on, all rows of the block. */
static void transform(const struct back *b, const struct side *s, int64_t part)
{
    int64_t lanes = b->tile->lanes;
    int64_t cols = 2 * b->tx + s->reach - 2;
    int64_t pitch = cols * lanes;
    int64_t channel = part * s->at_once;
    int64_t stride = s->panels * b->most * s->width;
    float *out = s->out + channel / s->width * b->most * s->width + channel % s->width;
    uint64_t bytes = (uint64_t)((2 * b->rows + 2) * pitch + s->v->sizes[3]) * sizeof(float);
    float *scratch = cpu_mem_get(bytes);
    int64_t done = 0;

    while (done < b->rows) { /* what lies in one plane */
        int64_t n = (b->first + done) / b->ty;
        int64_t y = (b->first + done) % b->ty;
        int64_t here = cpu_min(b->rows - done, b->ty - y);

        gather(b, s, n, channel, 2 * y - s->pad_h, 2 * here + s->reach - 2, cols, scratch,
               scratch + (2 * b->rows + 2) * pitch);
        for (int64_t r = 0; r < here; r++) {
            float *dst = out + (done + r) * b->tx * s->width;

            if (s->reach == 4)
                b->tile->wino_input_channels(b->tx, scratch + 2 * r * pitch, pitch, dst,
                                             s->at_once < lanes, s->width, stride);
            else
                b->tile->wino_grad_channels(b->tx, scratch + 2 * r * pitch, pitch, dst,
                                            s->at_once < lanes, s->width, stride);
        }
        done += here;
    }
    cpu_mem_put(scratch, bytes);
}

/* Task: a part of the channels of x; the tasks after those transform the channels of g. */
static void transform_task(void *ctx, int64_t task)
{
    const struct back *b = ctx;

    if (task < b->x.parts)
        transform(b, &b->x, task);
    else
        transform(b, &b->g, task - b->x.parts);
}

/* Task: GROUP panels of outputs at one position. */
static void product_task(void *ctx, int64_t task)
{
    const struct back *b = ctx;
    int64_t groups = (b->g.panels + GROUP - 1) / GROUP;
    int64_t k = task / groups;
    int64_t from = task % groups * GROUP;
    int64_t to = cpu_min(from + GROUP, b->g.panels);
    int64_t nr = b->tile->nr;
    int64_t mr = b->tile->mr;
    uint64_t mode = cpu_subnormal_begin();

    for (int64_t i = 0; i < b->x.panels; i++) {
        for (int64_t o = from; o < to; o++)
            b->tile->gemm(
                b->co - o * mr, b->rows * b->tx, b->g.out + (k * b->g.panels + o) * b->most * mr,
                b->x.out + (k * b->x.panels + i) * b->most * nr,
                b->c + (k * b->co_pad + o * mr) * b->ci_pad + i * nr, b->ci_pad, b->first > 0);
    }
    cpu_subnormal_end(mode);
}

/* Task: an output channel. */
static void finish_task(void *ctx, int64_t o)
{
    const struct back *b = ctx;
    const struct eng_view *gw = b->gw;
    uint64_t bytes = (uint64_t)(9 * b->ci) * sizeof(float);
    float *w = cpu_mem_get(bytes);

    b->tile->wino_weight_back(b->ci, b->c + o * b->ci_pad, b->co_pad * b->ci_pad, w);
    for (int64_t t = 0; t < 9; t++)
        cpu_rows()->f32->store(w + t * b->ci, b->ci, gw->dtype,
                               (char *)gw->data + o * cpu_stride(gw, 0) +
                                   t / 3 * cpu_stride(gw, 2) + t % 3 * cpu_stride(gw, 3),
                               cpu_stride(gw, 1));
    cpu_mem_put(w, bytes);
}

static void run(struct back *b, int64_t total, int64_t most)
{
    int64_t groups = (b->g.panels + GROUP - 1) / GROUP;

    for (b->first = 0; b->first < total; b->first += most) {
        b->rows = cpu_min(most, total - b->first);
        cpu_parallel(b->x.parts + b->g.parts, transform_task, b);
        cpu_parallel(16 * groups, product_task, b);
    }
    cpu_parallel(b->co, finish_task, b);
}

void cpu_winograd_weight(const struct cpu_conv *c, const struct eng_view *g,
                         const struct eng_view *x, const struct eng_view *gw)
{
    struct back b = {.tile = cpu_tile(), .gw = gw, .ci = c->ci, .co = c->co};
    int64_t total;
    int64_t most;
    int64_t v;
    int64_t gv;
    uint64_t bytes;

    side_init(&b.x, x, c->p.padding[0], c->p.padding[1], 4, b.tile->nr, b.tile->lanes);
    side_init(&b.g, g, 0, 0, 2, b.tile->mr, b.tile->lanes);
    b.ty = (c->ho + 1) / 2;
    b.tx = (c->wo + 1) / 2;
    total = c->batch * b.ty;
    most = cpu_min(512, cpu_max(64, BLOCK_BYTES / 64 / (c->ci + c->co))) / b.tx;
    most = cpu_max(1, cpu_min(most, total));
    b.most = most * b.tx;
    b.ci_pad = b.x.panels * b.tile->nr;
    b.co_pad = b.g.panels * b.tile->mr;
    v = 16 * b.ci_pad * b.most;
    gv = 16 * b.co_pad * b.most;
    bytes = (uint64_t)(v + gv + 16 * b.ci_pad * b.co_pad) * sizeof(float);
    b.x.out = cpu_mem_get(bytes);
    b.g.out = b.x.out + v;
    b.c = b.g.out + gv;
    run(&b, total, most);
    cpu_mem_put(b.x.out, bytes);
}
