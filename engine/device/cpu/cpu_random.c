/*
 * engine/device/cpu/cpu_random.c - random values, and the values computed by a hash for the oracle.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  where the seed and the generator come from.
 * Invariant:      element i in row-major order is number i, whatever the strides; f16 and bf16 round the float.
 */
#include "engine/device/cpu/cpu_random.h"
#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_iter.h"
#include "engine/device/cpu/cpu_kernels.h"

#define PIECE 32768

enum kind { UNIFORM, NORMAL, BERNOULLI, INTEGER, FORMULA, FORMULA_INT, ARANGE };

struct make {
    enum kind kind;
    const struct cpu_num *num;
    enum vs_dtype dtype;
    uint64_t start;
    double a; /* low, mean, p, offset, start */
    double b; /* high, std, scale, step */
    int64_t low;
    uint64_t width;
    uint32_t key;
};

static uint32_t formula_hash(uint32_t key, uint32_t i)
{
    uint32_t h = i * 0x9e3779b1u + (key * 0x85ebca6bu + 0x12345u);

    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ h >> 16;
}

/* (bits * width) >> 64: in [0, width), without a division */
static uint64_t in_width(uint64_t bits, uint64_t width)
{
    uint64_t lo = (bits & 0xffffffffu) * (width & 0xffffffffu);
    uint64_t mid = (bits >> 32) * (width & 0xffffffffu) + (lo >> 32);
    uint64_t mid2 = (bits & 0xffffffffu) * (width >> 32) + (mid & 0xffffffffu);

    return (bits >> 32) * (width >> 32) + (mid >> 32) + (mid2 >> 32);
}

static void make_ints(const struct make *m, uint64_t first, int64_t n, int64_t *y)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = first + (uint64_t)i;
        uint64_t v;

        if (m->kind == INTEGER)
            v = in_width(cpu_rng_bits(m->start, at), m->width);
        else
            v = (formula_hash(m->key, (uint32_t)at) >> 8) % m->width;
        y[i] = (int64_t)((uint64_t)m->low + v);
    }
}

/* In float whatever the dtype, rounded after each operation. */
static void make_formula(const struct make *m, uint64_t first, int64_t n, float *y)
{
    float offset = (float)m->a;
    float scale = (float)m->b;

    for (int64_t i = 0; i < n; i++) {
        uint32_t h = formula_hash(m->key, (uint32_t)(first + (uint64_t)i));
        float v = (float)(h >> 8) * 0x1p-23f - 1.0f;

        y[i] = v * scale;
        if (offset != 0.0f)
            y[i] = offset + y[i];
    }
}

static void make_chunk(const struct make *m, uint64_t first, int64_t n, void *buf)
{
    double *y = buf;

    switch (m->kind) {
    case UNIFORM:
        m->num->uniform(m->start, first, n, m->a, m->b, buf);
        break;
    case NORMAL:
        m->num->normal(m->start, first, n, m->a, m->b, buf);
        break;
    case BERNOULLI:
        m->num->bernoulli(m->start, first, n, m->a, buf);
        break;
    case INTEGER:
    case FORMULA_INT:
        make_ints(m, first, n, buf);
        break;
    case FORMULA:
        make_formula(m, first, n, buf);
        break;
    case ARANGE:
        for (int64_t i = 0; i < n; i++)
            y[i] = m->a + m->b * (double)(first + (uint64_t)i);
        break;
    }
}

static void make_row(void *ctx, int64_t index, int64_t n, char *const *data, const int64_t *strides)
{
    const struct make *m = ctx;
    int64_t buf[CPU_CHUNK];

    for (int64_t at = 0; at < n; at += CPU_CHUNK) {
        int64_t c = cpu_min(CPU_CHUNK, n - at);
        char *p = data[0] + at * strides[0];
        void *y = cpu_write(m->num, m->dtype, p, strides[0], buf);

        make_chunk(m, (uint64_t)(index + at), c, y);
        cpu_write_end(m->num, m->dtype, p, strides[0], c, y);
    }
}

static void run(struct make *m, const struct eng_view *out)
{
    const struct eng_view *views[] = {out};
    struct cpu_iter it;

    m->dtype = out->dtype;
    cpu_iter_init(&it, 1, views, CPU_ORDER_ROW_MAJOR);
    cpu_iter_run(&it, PIECE, make_row, m);
}

void cpu_random_uniform(const struct eng_view *out, double low, double high, struct eng_rng_key key)
{
    struct make m = {.kind = UNIFORM,
                     .num = cpu_num_of(out->dtype),
                     .start = cpu_rng_start(key),
                     .a = low,
                     .b = high};

    VS_ASSERT(vs_dtype_is_floating(out->dtype));
    run(&m, out);
}

void cpu_random_normal(const struct eng_view *out, double mean, double std, struct eng_rng_key key)
{
    struct make m = {.kind = NORMAL,
                     .num = cpu_num_of(out->dtype),
                     .start = cpu_rng_start(key),
                     .a = mean,
                     .b = std};

    VS_ASSERT(vs_dtype_is_floating(out->dtype));
    run(&m, out);
}

void cpu_random_int(const struct eng_view *out, int64_t low, int64_t high, struct eng_rng_key key)
{
    struct make m = {.kind = INTEGER,
                     .num = cpu_rows()->i64,
                     .start = cpu_rng_start(key),
                     .low = low,
                     .width = (uint64_t)high - (uint64_t)low};

    VS_ASSERT(high > low);
    run(&m, out);
}

void cpu_random_bernoulli(const struct eng_view *out, double p, struct eng_rng_key key)
{
    struct make m = {.kind = BERNOULLI,
                     .num = out->dtype == VS_F64 ? cpu_rows()->f64 : cpu_rows()->f32,
                     .start = cpu_rng_start(key),
                     .a = p};

    run(&m, out);
}

void cpu_fill_formula(const struct eng_view *out, uint32_t key, double offset, double scale)
{
    struct make m = {.kind = FORMULA, .num = cpu_rows()->f32, .key = key, .a = offset, .b = scale};

    run(&m, out);
}

void cpu_fill_formula_int(const struct eng_view *out, uint32_t key, int64_t low, int64_t high)
{
    struct make m = {.kind = FORMULA_INT,
                     .num = cpu_rows()->i64,
                     .key = key,
                     .low = low,
                     .width = (uint64_t)high - (uint64_t)low};

    VS_ASSERT(high > low);
    run(&m, out);
}

void cpu_arange(const struct eng_view *out, double start, double step)
{
    struct make m = {.kind = ARANGE, .num = cpu_rows()->f64, .a = start, .b = step};

    run(&m, out);
}

/* Every row of the last dim: a run of x, the rest 0. */
struct triangle {
    const struct eng_view *x;
    const struct eng_view *out;
    int64_t diagonal;
    bool is_upper;
    int64_t rows; /* all, of all matrices */
};

static void triangle_row(const struct triangle *t, int64_t row)
{
    int nd = t->x->ndim;
    int64_t cols = t->x->sizes[nd - 1];
    int64_t i = row % t->x->sizes[nd - 2];
    int64_t edge = i + t->diagonal; /* lower: columns <= edge; upper: columns >= edge */
    struct eng_view src = *t->x;
    struct eng_view dst = *t->out;
    struct eng_scalar zero = {.is_int = true};
    int64_t from = t->is_upper ? cpu_min(cpu_max(edge, 0), cols) : 0;
    int64_t to = t->is_upper ? cols : cpu_min(cpu_max(edge + 1, 0), cols);
    int64_t off_src = 0;
    int64_t off_dst = 0;
    struct eng_view part;

    for (int d = nd - 2; d >= 0; d--) {
        off_src += row % src.sizes[d] * cpu_stride(&src, d);
        off_dst += row % src.sizes[d] * cpu_stride(&dst, d);
        row /= src.sizes[d];
    }
    src = (struct eng_view){(char *)src.data + off_src + from * cpu_stride(&src, nd - 1),
                            src.dtype,
                            1,
                            {to - from},
                            {src.strides[nd - 1]}};
    part =
        (struct eng_view){(char *)dst.data + off_dst, dst.dtype, 1, {from}, {dst.strides[nd - 1]}};
    cpu_fill(&part, zero);
    part.data = (char *)part.data + to * cpu_stride(&dst, nd - 1);
    part.sizes[0] = cols - to;
    cpu_fill(&part, zero);
    part.data = (char *)dst.data + off_dst + from * cpu_stride(&dst, nd - 1);
    part.sizes[0] = to - from;
    if (to > from && src.data != part.data)
        cpu_copy(&src, &part);
}

static void triangle_rows(void *ctx, int64_t task)
{
    const struct triangle *t = ctx;
    int64_t group = cpu_max(1, 32768 / cpu_max(1, t->x->sizes[t->x->ndim - 1]));
    int64_t end = cpu_min((task + 1) * group, t->rows);

    for (int64_t r = task * group; r < end; r++)
        triangle_row(t, r);
}

void cpu_triangle(const struct eng_view *x, const struct eng_view *out, int64_t diagonal,
                  bool is_upper)
{
    struct triangle t = {x, out, diagonal, is_upper, 0};
    int64_t cols;
    int64_t group;

    VS_ASSERT(x->ndim >= 2 && x->dtype == out->dtype);
    cols = x->sizes[x->ndim - 1];
    if (cpu_numel(x) == 0)
        return;
    t.rows = cpu_numel(x) / cols;
    group = cpu_max(1, 32768 / cols);
    cpu_parallel((t.rows + group - 1) / group, triangle_rows, &t);
}
