/*
 * engine/device/cpu/products/cpu_attention.c - scaled dot product attention and its gradients, a few query rows at a
 * time.
 *
 * For:            the table of kernels (cpu.c).
 * Must not know:  autograd.
 * Invariant:      the backward pass recomputes the probabilities of a tile with the arithmetic of the forward pass. A
 *                 row in which every key is masked has probabilities 0. Dropout keeps element
 *                 ((b*H + h)*L + l)*S + s where number of that index of the key's stream is at least p.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/cpu_random.h"

#define ROWS 64 /* query rows of a tile */

struct attention {
    const struct cpu_num *num;
    bool is_double;
    const struct eng_view *g; /* gradient of out, or NULL */
    const struct eng_view *q;
    const struct eng_view *k;
    const struct eng_view *v;
    const struct eng_view *mask;
    const struct eng_view *out;
    const struct eng_view *lse;
    const struct eng_view *gq;
    const struct eng_view *gk;
    const struct eng_view *gv;
    bool causal;
    double scale;
    double dropout_p;
    uint64_t stream;
    int64_t heads;
    int64_t share; /* query heads that share a key head */
    int64_t l;
    int64_t s;
    int64_t d;
    int64_t dv;
    int64_t tiles;
};

/* Query rows first … of one head, and the matrices that belong to them. */
struct tile {
    int64_t b;
    int64_t h;
    int64_t first;
    int64_t rows;
    int64_t cols; /* keys that any of the rows may see */
    struct cpu_mat q;
    struct cpu_mat k;
    struct cpu_mat v;
};

static char *head_at(const struct eng_view *x, int64_t b, int64_t h, int64_t row)
{
    return (char *)x->data + b * cpu_stride(x, 0) + h * cpu_stride(x, 1) + row * cpu_stride(x, 2);
}

/* Rows first … of a head as a matrix: in place where it can be, else read into buf. */
static struct cpu_mat rows_read(const struct cpu_num *num, const struct eng_view *x, int64_t b,
                                int64_t h, int64_t first, int64_t rows, void *buf)
{
    int64_t width = x->sizes[3];
    char *p = head_at(x, b, h, first);

    if (x->dtype == num->dtype && cpu_mat_is_direct(rows, width, x->strides[2], x->strides[3]))
        return (struct cpu_mat){p, x->strides[2], x->strides[3]};
    for (int64_t r = 0; r < rows; r++)
        num->load(x->dtype, p + r * cpu_stride(x, 2), cpu_stride(x, 3), width,
                  (char *)buf + (size_t)(r * width) * num->size);
    return (struct cpu_mat){buf, width, 1};
}

static void rows_write(const struct cpu_num *num, const struct eng_view *x, int64_t b, int64_t h,
                       int64_t first, int64_t rows, const char *buf)
{
    int64_t width = x->sizes[3];

    for (int64_t r = 0; r < rows; r++)
        num->store(buf + (size_t)(r * width) * num->size, width, x->dtype,
                   head_at(x, b, h, first + r), cpu_stride(x, 3));
}

static struct cpu_mat transposed(struct cpu_mat m)
{
    return (struct cpu_mat){m.data, m.col_stride, m.row_stride};
}

/* row += mask, or -inf where a bool mask is false; spare is a row */
static void mask_row(const struct attention *a, const struct tile *t, int64_t r, void *row,
                     void *spare)
{
    const struct eng_view *m = a->mask;
    int64_t visible = a->causal ? cpu_min(a->s, t->first + r + 1) : a->s;
    const char *p;

    for (int64_t c = cpu_max(visible, 0); c < t->cols; c++)
        cpu_set_f64(a->num->dtype, (char *)row + (size_t)c * a->num->size, (double)-INFINITY);
    if (!m)
        return;
    p = head_at(m, t->b, t->h, t->first + r);
    if (m->dtype != VS_BOOL) {
        a->num->load(m->dtype, p, cpu_stride(m, 3), t->cols, spare);
        a->num->axpy(t->cols, spare, 1.0, row);
        return;
    }
    for (int64_t c = 0; c < t->cols; c++) {
        if (!*(p + c * cpu_stride(m, 3)))
            cpu_set_f64(a->num->dtype, (char *)row + (size_t)c * a->num->size, (double)-INFINITY);
    }
}

/* p[rows][cols] = softmax(q k^T * scale + mask); spare is a row; writes lse where there is one and it is forward. */
static void probabilities(const struct attention *a, const struct tile *t, char *p, char *spare)
{
    const struct cpu_num *num = a->num;

    cpu_gemm(a->is_double, t->rows, t->cols, a->d, a->scale, t->q, transposed(t->k), 0.0,
             (struct cpu_mat){p, t->cols, 1});
    for (int64_t r = 0; r < t->rows; r++) {
        char *row = p + (size_t)(r * t->cols) * num->size;
        double max = (double)-INFINITY;
        double sum = 0.0;

        mask_row(a, t, r, row, spare);
        num->fold_row(CPU_FOLD_MAX, t->cols, row, NULL, &max);
        if (max == (double)-INFINITY) {
            memset(row, 0, (size_t)t->cols * num->size);
        } else {
            sum = num->exp_sub(t->cols, row, max, spare);
            num->scale(t->cols, spare, 1.0 / sum, row);
        }
        if (a->lse && !a->g)
            cpu_set_f64(a->lse->dtype,
                        (char *)a->lse->data + t->b * cpu_stride(a->lse, 0) +
                            t->h * cpu_stride(a->lse, 1) + (t->first + r) * cpu_stride(a->lse, 2),
                        max + log(sum));
    }
}

/* m *= keep / (1-p), element by element */
static void drop(const struct attention *a, const struct tile *t, char *m)
{
    double keep = a->dropout_p < 1.0 ? 1.0 / (1.0 - a->dropout_p) : 0.0;

    if (a->dropout_p == 0.0)
        return;
    for (int64_t r = 0; r < t->rows; r++) {
        uint64_t base = (uint64_t)(((t->b * a->heads + t->h) * a->l + t->first + r) * a->s);

        for (int64_t c = 0; c < t->cols; c++) {
            bool kept = cpu_rng_f64(a->stream, base + (uint64_t)c) >= a->dropout_p;
            int64_t i = r * t->cols + c;

            if (a->is_double)
                ((double *)(void *)m)[i] *= kept ? keep : 0.0;
            else
                ((float *)(void *)m)[i] *= kept ? (float)keep : 0.0f;
        }
    }
}

static struct tile tile_of(const struct attention *a, int64_t b, int64_t h, int64_t first)
{
    struct tile t = {.b = b, .h = h, .first = first, .rows = cpu_min(ROWS, a->l - first)};

    t.cols = a->causal ? cpu_min(a->s, first + t.rows) : a->s;
    return t;
}

static void forward_tile(void *ctx, int64_t task)
{
    const struct attention *a = ctx;
    const struct cpu_num *num = a->num;
    int64_t bh = task / a->tiles;
    struct tile t = tile_of(a, bh / a->heads, bh % a->heads, task % a->tiles * ROWS);
    size_t p_elems = (size_t)((t.rows + 1) * t.cols);
    size_t elems = p_elems + (size_t)(t.rows * (a->d + a->dv) + t.cols * (a->d + a->dv));
    char *p = cpu_mem_get(elems * num->size);
    char *spare = p + (size_t)(t.rows * t.cols) * num->size;
    char *q = p + p_elems * num->size;
    char *k = q + (size_t)(t.rows * a->d) * num->size;
    char *v = k + (size_t)(t.cols * a->d) * num->size;
    char *o = v + (size_t)(t.cols * a->dv) * num->size;

    t.q = rows_read(num, a->q, t.b, t.h, t.first, t.rows, q);
    t.k = rows_read(num, a->k, t.b, t.h / a->share, 0, t.cols, k);
    t.v = rows_read(num, a->v, t.b, t.h / a->share, 0, t.cols, v);
    probabilities(a, &t, p, spare);
    drop(a, &t, p);
    cpu_gemm(a->is_double, t.rows, a->dv, t.cols, 1.0, (struct cpu_mat){p, t.cols, 1}, t.v, 0.0,
             (struct cpu_mat){o, a->dv, 1});
    rows_write(num, a->out, t.b, t.h, t.first, t.rows, o);
    cpu_mem_put(p, elems * num->size);
}

static void attention_init(struct attention *a)
{
    VS_ASSERT(a->q->ndim == 4 && a->k->ndim == 4 && a->v->ndim == 4);
    VS_ASSERT(vs_dtype_is_floating(a->q->dtype) && a->q->sizes[1] % a->k->sizes[1] == 0);
    a->num = cpu_num_of(a->q->dtype);
    a->is_double = a->q->dtype == VS_F64;
    a->heads = a->q->sizes[1];
    a->share = a->heads / a->k->sizes[1];
    a->l = a->q->sizes[2];
    a->s = a->k->sizes[2];
    a->d = a->q->sizes[3];
    a->dv = a->v->sizes[3];
    a->tiles = (a->l + ROWS - 1) / ROWS;
}

void cpu_sdpa(const struct eng_view *q, const struct eng_view *k, const struct eng_view *v,
              const struct eng_view *mask, bool causal, double scale, double dropout_p,
              struct eng_rng_key key, const struct eng_view *out, const struct eng_view *lse)
{
    struct attention a = {.q = q,
                          .k = k,
                          .v = v,
                          .mask = mask,
                          .out = out,
                          .lse = lse,
                          .causal = causal,
                          .scale = scale,
                          .dropout_p = dropout_p,
                          .stream = cpu_rng_start(key)};
    struct eng_scalar zero = {.is_int = false};

    if (cpu_numel(out) == 0)
        return;
    attention_init(&a);
    if (a.s == 0) {
        cpu_fill(out, zero);
        return;
    }
    cpu_parallel(q->sizes[0] * a.heads * a.tiles, forward_tile, &a);
}

/* Scratch of the backward pass of one key head. */
struct back {
    char *gk; /* [s][d] */
    char *gv; /* [s][dv] */
    char *k;
    char *v;
    char *q; /* [ROWS][d] */
    char *g; /* [ROWS][dv] */
    char *gq;
    char *p; /* [ROWS][s] */
    char *dp;
    char *spare; /* [s] */
};

/* Lays the parts out from base, unless that is NULL; returns the bytes they take. */
static size_t back_layout(const struct attention *a, struct back *w, char *base)
{
    char **parts[] = {&w->gk, &w->gv, &w->k, &w->v, &w->q, &w->g, &w->gq, &w->p, &w->dp, &w->spare};
    const int64_t elems[] = {a->s * a->d,  a->s * a->dv, a->s * a->d, a->s * a->dv, ROWS * a->d,
                             ROWS * a->dv, ROWS * a->d,  ROWS * a->s, ROWS * a->s,  a->s};
    size_t at = 0;

    for (size_t i = 0; i < sizeof(elems) / sizeof(elems[0]); i++) {
        *parts[i] = base ? base + at : NULL;
        at += ((size_t)elems[i] * a->num->size + 63) / 64 * 64;
    }
    return at;
}

/* gv += drop(p)^T g; dp = drop(g v^T); ds = p * (dp - sum(dp*p)); gq = scale ds k; gk += scale ds^T q */
static void backward_tile(const struct attention *a, struct tile *t, const struct back *w)
{
    const struct cpu_num *num = a->num;
    struct cpu_mat dp = {w->dp, t->cols, 1};
    struct cpu_mat g = rows_read(num, a->g, t->b, t->h, t->first, t->rows, w->g);
    size_t p_bytes = (size_t)(t->rows * t->cols) * num->size;

    t->q = rows_read(num, a->q, t->b, t->h, t->first, t->rows, w->q);
    probabilities(a, t, w->p, w->spare);
    memcpy(w->dp, w->p, p_bytes);
    drop(a, t, w->dp);
    cpu_gemm(a->is_double, t->cols, a->dv, t->rows, 1.0, transposed(dp), g, 1.0,
             (struct cpu_mat){w->gv, a->dv, 1});
    cpu_gemm(a->is_double, t->rows, t->cols, a->dv, 1.0, g, transposed(t->v), 0.0, dp);
    drop(a, t, w->dp);
    for (int64_t r = 0; r < t->rows; r++) {
        size_t off = (size_t)(r * t->cols) * num->size;

        num->softmax_back(t->cols, w->dp + off, w->p + off,
                          num->dot(t->cols, w->dp + off, w->p + off), w->spare);
        memcpy(w->dp + off, w->spare, (size_t)t->cols * num->size);
    }
    cpu_gemm(a->is_double, t->rows, a->d, t->cols, a->scale, dp, t->k, 0.0,
             (struct cpu_mat){w->gq, a->d, 1});
    cpu_gemm(a->is_double, t->cols, a->d, t->rows, a->scale, transposed(dp), t->q, 1.0,
             (struct cpu_mat){w->gk, a->d, 1});
    if (a->gq)
        rows_write(num, a->gq, t->b, t->h, t->first, t->rows, w->gq);
}

/* One key head and all query heads that share it, in order. */
static void backward_head(void *ctx, int64_t task)
{
    const struct attention *a = ctx;
    const struct cpu_num *num = a->num;
    int64_t key_heads = a->heads / a->share;
    int64_t b = task / key_heads;
    int64_t hk = task % key_heads;
    struct back w;
    size_t bytes = back_layout(a, &w, NULL);
    char *base = cpu_mem_get(bytes);

    back_layout(a, &w, base);
    memset(w.gk, 0, (size_t)(a->s * a->d) * num->size);
    memset(w.gv, 0, (size_t)(a->s * a->dv) * num->size);
    for (int64_t h = hk * a->share; h < (hk + 1) * a->share; h++) {
        for (int64_t first = 0; first < a->l; first += ROWS) {
            struct tile t = tile_of(a, b, h, first);

            t.k = rows_read(num, a->k, b, hk, 0, t.cols, w.k);
            t.v = rows_read(num, a->v, b, hk, 0, t.cols, w.v);
            backward_tile(a, &t, &w);
        }
    }
    if (a->gk)
        rows_write(num, a->gk, b, hk, 0, a->s, w.gk);
    if (a->gv)
        rows_write(num, a->gv, b, hk, 0, a->s, w.gv);
    cpu_mem_put(base, bytes);
}

void cpu_sdpa_backward(const struct eng_view *g, const struct eng_view *q, const struct eng_view *k,
                       const struct eng_view *v, const struct eng_view *mask, bool causal,
                       double scale, double dropout_p, struct eng_rng_key key,
                       const struct eng_view *out, const struct eng_view *lse,
                       const struct eng_view *gq, const struct eng_view *gk,
                       const struct eng_view *gv)
{
    struct attention a = {.g = g,
                          .q = q,
                          .k = k,
                          .v = v,
                          .mask = mask,
                          .out = out,
                          .lse = lse,
                          .gq = gq,
                          .gk = gk,
                          .gv = gv,
                          .causal = causal,
                          .scale = scale,
                          .dropout_p = dropout_p,
                          .stream = cpu_rng_start(key)};

    if (cpu_numel(k) == 0 && cpu_numel(q) == 0)
        return;
    attention_init(&a);
    cpu_parallel(q->sizes[0] * (a.heads / a.share), backward_head, &a);
}
