/*
 * engine/device/cpu/cpu_internal.h - what the files of the CPU device share: number types, threads, scratch, GEMM.
 *
 * For:            the files of this folder and their tests.
 * Must not know:  tensors, autograd, the allocator.
 * Invariant:      a value depends on the operands alone: the division of work into tasks does not depend on the
 *                 number of threads, and a row function computes the same bits for element i wherever a row was
 *                 divided.
 */
#ifndef ENG_DEVICE_CPU_INTERNAL_H
#define ENG_DEVICE_CPU_INTERNAL_H

#include <stddef.h>

#include "engine/device/kernels.h"

/* ---- arithmetic on rows ---- */

/* What a fold does with each element. param: the mean for SQDEV, the maximum for SUMEXP. */
enum cpu_fold {
    CPU_FOLD_SUM,
    CPU_FOLD_PROD,
    CPU_FOLD_MAX, /* NaN stays NaN */
    CPU_FOLD_MIN,
    CPU_FOLD_ANY, /* 0 or 1 */
    CPU_FOLD_ALL,
    CPU_FOLD_SQDEV,
    CPU_FOLD_SUMEXP
};

/*
 * An output row or column that is interpolated between two of the input: (1 - weight) of the first, weight of the
 * second.
 */
struct cpu_tap {
    int64_t first;
    int64_t second;
    double weight;
};

/*
 * A type of computation (float, double or int64_t), and the functions for contiguous rows of it. Rows of other dtypes
 * are converted to such a row and back. Strides are in bytes; the pointers of one call do not overlap.
 *
 * load, store     convert; store rounds to nearest even, float to int truncates, anything to bool is != 0
 * round_to        rounds a row to the precision of f16 or bf16, in place; NULL for int64_t
 * fold_row        *acc (double, or int64_t for int64_t) op= every element, in fixed order; param: one value of acc's
 *                 type
 * fold_cols       acc[i] op= x[i]; param: a row, or NULL if the fold has no parameter
 *
 * The following are for float and double only (NULL for int64_t). Sums are accumulated in double.
 * sum, dot        of x, of x*y
 * sq_dev          sum of (x-mean)^2
 * dot_dev         sum of g*(x-mean)
 * exp_sub         y = exp(x - max); returns the sum of y. y may be NULL; max is then the maximum of the row
 * scale           y = x*a
 * affine          y = x*a + b
 * axpy            y = y + x*a
 * bn_back         y = (g - mg - (x-mean)*k) * a
 * ln_apply        y = (x-mean)*rstd*w + b; w and b may be NULL
 * ln_sums         sums[0] += g*w*(x-mean), sums[1] += g*w
 * ln_back         y = (g*w - c0 - (x-mean)*c1) * rstd
 * ln_params       gw += g*(x-mean)*rstd, gb += g; either may be NULL
 * log_softmax_back  y = g - exp(o)*sum
 * softmax_back    y = o*(g - sum)
 * uniform, normal, bernoulli  the numbers from `first` on of the stream (cpu_random.h) that begins with `start`
 *
 * Contiguous planes, x of h*w and y of ho*wo elements; the "back" functions add to x:
 * max_pool, adaptive_pool  also store the position of each maximum (max_pool: h*w < 2^31); adaptive_pool without idx
 *                          averages
 * scatter_plane   x[idx[i]] += g[i]
 * resample        linear interpolation with taps for each output row and column
 */
struct cpu_num {
    enum vs_dtype dtype;
    size_t size;
    void (*load)(enum vs_dtype from, const char *src, int64_t stride, int64_t n, void *dst);
    void (*store)(const void *src, int64_t n, enum vs_dtype to, char *dst, int64_t stride);
    void (*round_to)(enum vs_dtype to, int64_t n, void *x);
    void (*unary)(enum eng_unary op, int64_t n, const void *x, void *y, const double *p);
    void (*binary)(enum eng_binary op, int64_t n, const void *a, const void *b, void *y,
                   const double *p);
    void (*ternary)(enum eng_ternary op, int64_t n, const void *a, const void *b, const void *c,
                    void *y, const double *p);
    void (*fold_row)(enum cpu_fold op, int64_t n, const void *x, const void *param, void *acc);
    void (*fold_cols)(enum cpu_fold op, int64_t n, const void *x, const void *param, void *acc);

    double (*sum)(int64_t n, const void *x);
    double (*dot)(int64_t n, const void *x, const void *y);
    double (*sq_dev)(int64_t n, const void *x, double mean);
    double (*dot_dev)(int64_t n, const void *g, const void *x, double mean);
    double (*exp_sub)(int64_t n, const void *x, double max, void *y);
    void (*scale)(int64_t n, const void *x, double a, void *y);
    void (*affine)(int64_t n, const void *x, double a, double b, void *y);
    void (*axpy)(int64_t n, const void *x, double a, void *y);
    void (*bn_back)(int64_t n, const void *g, const void *x, double mean, double k, double mg,
                    double a, void *y);
    void (*ln_apply)(int64_t n, const void *x, double mean, double rstd, const void *w,
                     const void *b, void *y);
    void (*ln_sums)(int64_t n, const void *g, const void *x, const void *w, double mean,
                    double *sums);
    void (*ln_back)(int64_t n, const void *g, const void *x, const void *w, double mean,
                    double rstd, double c0, double c1, void *y);
    void (*ln_params)(int64_t n, const void *g, const void *x, double mean, double rstd, void *gw,
                      void *gb);
    void (*softmax_back)(int64_t n, const void *g, const void *o, double sum, void *y);
    void (*log_softmax_back)(int64_t n, const void *g, const void *o, double sum, void *y);

    void (*uniform)(uint64_t start, uint64_t first, int64_t n, double low, double high, void *y);
    void (*normal)(uint64_t start, uint64_t first, int64_t n, double mean, double std, void *y);
    void (*bernoulli)(uint64_t start, uint64_t first, int64_t n, double p, void *y);

    void (*max_pool)(const void *x, int64_t h, int64_t w, void *y, int64_t *idx, int64_t ho,
                     int64_t wo, const struct eng_pool2d *p);
    void (*avg_pool)(const void *x, int64_t h, int64_t w, void *y, int64_t ho, int64_t wo,
                     const struct eng_pool2d *p);
    void (*avg_back)(void *x, int64_t h, int64_t w, const void *y, int64_t ho, int64_t wo,
                     const struct eng_pool2d *p);
    void (*adaptive_pool)(const void *x, int64_t h, int64_t w, void *y, int64_t *idx, int64_t ho,
                          int64_t wo);
    void (*adaptive_avg_back)(void *x, int64_t h, int64_t w, const void *y, int64_t ho, int64_t wo);
    void (*scatter_plane)(int64_t n, const void *g, const int64_t *idx, void *x);
    void (*resample)(void *x, int64_t w, void *y, int64_t ho, int64_t wo,
                     const struct cpu_tap *rows, const struct cpu_tap *cols, bool backward);
};

/* The row functions for one instruction set. */
struct cpu_rows {
    const char *isa;
    const struct cpu_num *f32;
    const struct cpu_num *f64;
    const struct cpu_num *i64;
};

/*
 * The table for the processor that runs the program, and a certain table for tests: NULL if the processor cannot run
 * it.
 */
const struct cpu_rows *cpu_rows(void);
const struct cpu_rows *
cpu_rows_variant(int idx); /* 0 baseline, 1 AVX2, 2 AVX-512; NULL for other numbers */

/*
 * The type in which a dtype is computed: double for f64, float for the other floating dtypes, int64_t for the rest.
 */
const struct cpu_num *cpu_num_of(enum vs_dtype dtype);

/* elements of a row that are converted at a time: a few such buffers fit in the L1 cache */
#define CPU_CHUNK 1024

/*
 * n elements at p as a row of `num`: p itself if it already is such a row, else converted into buf.
 */
static inline const void *cpu_read(const struct cpu_num *num, enum vs_dtype dtype, const char *p,
                                   int64_t stride, int64_t n, void *buf)
{
    if (dtype == num->dtype && stride == (int64_t)num->size)
        return p;
    num->load(dtype, p, stride, n, buf);
    return buf;
}

/*
 * Where to compute n elements that are to be stored at p: p itself or buf; cpu_write_end then stores buf.
 */
static inline void *cpu_write(const struct cpu_num *num, enum vs_dtype dtype, char *p,
                              int64_t stride, void *buf)
{
    return dtype == num->dtype && stride == (int64_t)num->size ? p : buf;
}

static inline void cpu_write_end(const struct cpu_num *num, enum vs_dtype dtype, char *p,
                                 int64_t stride, int64_t n, const void *buf)
{
    if (!(dtype == num->dtype && stride == (int64_t)num->size))
        num->store(buf, n, dtype, p, stride);
}

/* ---- views ---- */

int64_t cpu_numel(const struct eng_view *v);
/* Byte stride of dim d. */
static inline int64_t cpu_stride(const struct eng_view *v, int d)
{
    return v->strides[d] * (int64_t)vs_dtype_bytes(v->dtype);
}
/* One element as double or integer; p points to it. */
double cpu_get_f64(enum vs_dtype dtype, const char *p);
int64_t cpu_get_i64(enum vs_dtype dtype, const char *p);
void cpu_set_f64(enum vs_dtype dtype, char *p, double value);
void cpu_set_i64(enum vs_dtype dtype, char *p, int64_t value);

static inline int64_t cpu_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t cpu_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- threads, scratch ---- */

typedef void cpu_task_fn(void *ctx, int64_t task);

/*
 * Calls fn(ctx, i) once for each i in 0 … tasks-1, in any order and on several threads; returns when all calls have
 * returned. Tasks write to disjoint memory. A call from inside a task, or while another thread is inside, runs all
 * tasks on the calling thread.
 */
void cpu_parallel(int64_t tasks, cpu_task_fn *fn, void *ctx);
int cpu_thread_count(void);

/*
 * Memory of storages and scratch of kernels come from one cache of freed buffers. 64-byte aligned; bytes > 0.
 */
void *cpu_mem_get(uint64_t bytes);
void cpu_mem_put(void *data, uint64_t bytes);
/* Returns the cached buffers to the system. */
void cpu_mem_trim(void);
/* Bytes in use, and bytes in the cache. */
void cpu_mem_stats(uint64_t *in_use, uint64_t *cached);

/* ---- GEMM ---- */

/*
 * A matrix of float or double. Strides in elements; one of them is 1 (or the size of that dim is 1).
 */
struct cpu_mat {
    void *data;
    int64_t row_stride;
    int64_t col_stride;
};

/*
 * c[m,n] = beta*c + alpha * a[m,k] b[k,n], on the calling thread. is_double: all three are double, else float.
 */
void cpu_gemm(bool is_double, int64_t m, int64_t n, int64_t k, double alpha, struct cpu_mat a,
              struct cpu_mat b, double beta, struct cpu_mat c);
/* The same, divided among the threads. */
void cpu_gemm_parallel(bool is_double, int64_t m, int64_t n, int64_t k, double alpha,
                       struct cpu_mat a, struct cpu_mat b, double beta, struct cpu_mat c);
/* Whether cpu_gemm can take a rows x cols matrix with these strides as it is. */
bool cpu_mat_is_direct(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride);

#endif
