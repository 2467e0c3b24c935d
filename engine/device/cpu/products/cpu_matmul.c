/*
 * engine/device/cpu/products/cpu_matmul.c - matrix products through CBLAS.
 *
 * For:            the table of kernels (cpu.c); convolutions and attention.
 * Must not know:  tensors.
 * Invariant:      OpenBLAS runs on the calling thread (see cpu_blas.h); a product is cut into blocks of the result
 *                 whose sizes do not depend on the number of threads. Operands with a unit stride are read in
 *                 place; others, and f16 and bf16, are copied panel by panel.
 */
#include <string.h>

#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/cpu/cpu_kernels.h"
#include "engine/device/cpu/products/cpu_blas.h"
#include "engine/device/cpu/products/cpu_subnormal.h"

#define FLOPS_PER_TASK (4 << 20)
#define PANEL 256 /* side of a converted panel */

bool cpu_mat_is_direct(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride)
{
    if ((cols == 1 || col_stride == 1) && (rows == 1 || row_stride >= cpu_max(1, cols)))
        return true;
    return (rows == 1 || row_stride == 1) && (cols == 1 || col_stride >= cpu_max(1, rows));
}

/* Is the matrix one whose rows are contiguous? Sets the distance of rows (or, if not, of columns). */
static bool by_rows(int64_t rows, int64_t cols, struct cpu_mat m, blasint *ld)
{
    if ((cols == 1 || m.col_stride == 1) && (rows == 1 || m.row_stride >= cols)) {
        *ld = (blasint)(rows == 1 ? cpu_max(1, cols) : m.row_stride);
        return true;
    }
    VS_ASSERT((rows == 1 || m.row_stride == 1) && (cols == 1 || m.col_stride >= rows));
    *ld = (blasint)(cols == 1 ? cpu_max(1, rows) : m.col_stride);
    return false;
}

static struct cpu_mat transposed(struct cpu_mat m)
{
    return (struct cpu_mat){m.data, m.col_stride, m.row_stride};
}

void cpu_gemm(bool is_double, int64_t m, int64_t n, int64_t k, double alpha, struct cpu_mat a,
              struct cpu_mat b, double beta, struct cpu_mat c)
{
    blasint lda;
    blasint ldb;
    blasint ldc;
    CBLAS_TRANSPOSE ta;
    CBLAS_TRANSPOSE tb;
    const struct cpu_blas *blas = cpu_blas_get();
    uint64_t mode;

    if (m == 0 || n == 0)
        return;
    if (!by_rows(m, n, c, &ldc)) { /* c^T = b^T a^T has contiguous rows */
        cpu_gemm(is_double, n, m, k, alpha, transposed(b), transposed(a), beta, transposed(c));
        return;
    }
    ta = by_rows(m, k, a, &lda) ? CblasNoTrans : CblasTrans;
    tb = by_rows(k, n, b, &ldb) ? CblasNoTrans : CblasTrans;
    mode = cpu_subnormal_begin();
    if (is_double)
        blas->dgemm(CblasRowMajor, ta, tb, (blasint)m, (blasint)n, (blasint)k, alpha, a.data, lda,
                    b.data, ldb, beta, c.data, ldc);
    else
        blas->sgemm(CblasRowMajor, ta, tb, (blasint)m, (blasint)n, (blasint)k, (float)alpha, a.data,
                    lda, b.data, ldb, (float)beta, c.data, ldc);
    cpu_subnormal_end(mode);
}

/* ---- a product cut over threads ---- */

struct product {
    bool is_double;
    int64_t m;
    int64_t n;
    int64_t k;
    double alpha;
    double beta;
    struct cpu_mat a;
    struct cpu_mat b;
    struct cpu_mat c;
    int64_t block_m;
    int64_t block_n;
    int64_t blocks_n;
};

static struct cpu_mat at(struct cpu_mat m, bool is_double, int64_t row, int64_t col)
{
    m.data = (char *)m.data + (row * m.row_stride + col * m.col_stride) * (is_double ? 8 : 4);
    return m;
}

static void product_block(void *ctx, int64_t task)
{
    const struct product *p = ctx;
    int64_t i = task / p->blocks_n * p->block_m;
    int64_t j = task % p->blocks_n * p->block_n;

    cpu_gemm(p->is_double, cpu_min(p->block_m, p->m - i), cpu_min(p->block_n, p->n - j), p->k,
             p->alpha, at(p->a, p->is_double, i, 0), at(p->b, p->is_double, 0, j), p->beta,
             at(p->c, p->is_double, i, j));
}

void cpu_gemm_parallel(bool is_double, int64_t m, int64_t n, int64_t k, double alpha,
                       struct cpu_mat a, struct cpu_mat b, double beta, struct cpu_mat c)
{
    struct product p = {is_double, m, n, k, alpha, beta, a, b, c, m, n, 1};
    double flops = 2.0 * (double)m * (double)n * (double)k;
    int64_t parts = (int64_t)(flops / FLOPS_PER_TASK);

    if (m == 0 || n == 0)
        return;
    /* blocks of the longer side, at least 64 wide: each block packs the other operand anew */
    parts = cpu_min(cpu_max(parts, 1), 8);
    if (m >= n)
        p.block_m = cpu_max(cpu_min(64, m), (m + parts - 1) / parts);
    else
        p.block_n = cpu_max(cpu_min(64, n), (n + parts - 1) / parts);
    p.blocks_n = (n + p.block_n - 1) / p.block_n;
    cpu_parallel((m + p.block_m - 1) / p.block_m * p.blocks_n, product_block, &p);
}

/* ---- the kernel ---- */

struct batched {
    const struct cpu_num *num;
    bool is_double;
    bool direct[3];
    struct eng_view a;
    struct eng_view b;
    struct eng_view c;
    double alpha;
    double beta;
    int64_t tiles_m;
    int64_t tiles_n;
};

static struct cpu_mat mat_of(const struct eng_view *v, int64_t batch)
{
    struct cpu_mat m = {(char *)v->data + batch * cpu_stride(v, 0), v->strides[1], v->strides[2]};

    return m;
}

static void batch_direct(void *ctx, int64_t i)
{
    const struct batched *t = ctx;

    cpu_gemm_parallel(t->is_double, t->c.sizes[1], t->c.sizes[2], t->a.sizes[2], t->alpha,
                      mat_of(&t->a, i), mat_of(&t->b, i), t->beta, mat_of(&t->c, i));
}

/* A panel of a matrix as contiguous rows of `num`, converted. */
static struct cpu_mat panel(const struct cpu_num *num, const struct eng_view *v, int64_t batch,
                            int64_t row, int64_t col, int64_t rows, int64_t cols, char *buf)
{
    const char *p = (const char *)v->data + batch * cpu_stride(v, 0) + row * cpu_stride(v, 1) +
                    col * cpu_stride(v, 2);
    bool rowwise = v->strides[2] <= v->strides[1] || v->strides[1] == 0;
    int64_t outer = rowwise ? rows : cols;
    int64_t inner = rowwise ? cols : rows;

    for (int64_t r = 0; r < outer; r++)
        num->load(v->dtype, p + r * cpu_stride(v, rowwise ? 1 : 2), cpu_stride(v, rowwise ? 2 : 1),
                  inner, buf + (size_t)(r * inner) * num->size);
    return (struct cpu_mat){buf, rowwise ? cols : 1, rowwise ? 1 : rows};
}

/* One PANEL x PANEL block of c, summed over k in panels; c is rounded once, at the end. */
static void converted_tile(void *ctx, int64_t task)
{
    const struct batched *t = ctx;
    const struct cpu_num *num = t->num;
    int64_t batch = task / (t->tiles_m * t->tiles_n);
    int64_t i = task / t->tiles_n % t->tiles_m * PANEL;
    int64_t j = task % t->tiles_n * PANEL;
    int64_t m = cpu_min(PANEL, t->c.sizes[1] - i);
    int64_t n = cpu_min(PANEL, t->c.sizes[2] - j);
    int64_t depth = t->a.sizes[2];
    size_t bytes = (size_t)PANEL * PANEL * num->size;
    char *scratch = cpu_mem_get(3 * bytes);
    char *sum = scratch + 2 * bytes;
    struct cpu_mat c = {sum, n, 1};
    char *dst = (char *)t->c.data + batch * cpu_stride(&t->c, 0) + i * cpu_stride(&t->c, 1) +
                j * cpu_stride(&t->c, 2);

    for (int64_t r = 0; r < m; r++) {
        char *row = sum + (size_t)(r * n) * num->size;

        memset(row, 0, (size_t)n * num->size);
        if (t->beta != 0.0) {
            num->load(t->c.dtype, dst + r * cpu_stride(&t->c, 1), cpu_stride(&t->c, 2), n, scratch);
            num->scale(n, scratch, t->beta, row);
        }
    }
    for (int64_t k = 0; k < depth; k += PANEL) {
        int64_t d = cpu_min(PANEL, depth - k);
        struct cpu_mat a = panel(num, &t->a, batch, i, k, m, d, scratch);
        struct cpu_mat b = panel(num, &t->b, batch, k, j, d, n, scratch + bytes);

        cpu_gemm(t->is_double, m, n, d, t->alpha, a, b, 1.0, c);
    }
    for (int64_t r = 0; r < m; r++)
        num->store(sum + (size_t)(r * n) * num->size, n, t->c.dtype, dst + r * cpu_stride(&t->c, 1),
                   cpu_stride(&t->c, 2));
    cpu_mem_put(scratch, 3 * bytes);
}

static bool is_direct(const struct batched *t, const struct eng_view *v)
{
    return v->dtype == t->num->dtype &&
           cpu_mat_is_direct(v->sizes[1], v->sizes[2], v->strides[1], v->strides[2]);
}

void cpu_matmul(const struct eng_view *a, const struct eng_view *b, const struct eng_view *c,
                double alpha, double beta)
{
    struct batched t = {
        .num = cpu_num_of(c->dtype), .a = *a, .b = *b, .c = *c, .alpha = alpha, .beta = beta};

    VS_ASSERT(a->ndim == 3 && b->ndim == 3 && c->ndim == 3 && vs_dtype_is_floating(c->dtype));
    VS_ASSERT(a->sizes[1] == c->sizes[1] && b->sizes[2] == c->sizes[2] &&
              a->sizes[2] == b->sizes[1]);
    VS_ASSERT(a->sizes[0] == c->sizes[0] && b->sizes[0] == c->sizes[0]);
    t.is_double = c->dtype == VS_F64;
    if (cpu_numel(c) == 0)
        return;
    if (a->sizes[2] > 0 && is_direct(&t, a) && is_direct(&t, b) && is_direct(&t, c)) {
        if (c->sizes[0] == 1)
            batch_direct(&t, 0);
        else
            cpu_parallel(c->sizes[0], batch_direct, &t);
        return;
    }
    t.tiles_m = (c->sizes[1] + PANEL - 1) / PANEL;
    t.tiles_n = (c->sizes[2] + PANEL - 1) / PANEL;
    cpu_parallel(c->sizes[0] * t.tiles_m * t.tiles_n, converted_tile, &t);
}
