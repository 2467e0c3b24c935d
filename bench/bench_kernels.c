/*
 * bench/bench_kernels.c - cost of the kernels of the CPU device, compared with simple loops in the same run.
 *
 * For:            deciding which kernel to optimise; run by hand.
 * Must not know:  the engine.
 * Invariant:      a figure is the best of several calls. If a kernel processes a batch, the simple loop processes one
 *                 image and its time is scaled.
 *
 * Columns: wall time per call in microseconds and Gflop/s (or GB/s for kernels without multiplications); the same by
 * processor time of all threads, which other programs disturb less; and the ratio to the simple loop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "engine/device/cpu/cpu_internal.h"

static double clock_of(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

static struct eng_view view4(float *data, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (struct eng_view){data, VS_F32, 4, {a, b, c, d}, {b * c * d, c * d, d, 1}};
}

static struct eng_view view2(float *data, int64_t a, int64_t b)
{
    return (struct eng_view){data, VS_F32, 2, {a, b}, {b, 1}};
}

static float *values(int64_t n)
{
    float *p = cpu_mem_get((uint64_t)n * sizeof(float));

    for (int64_t i = 0; i < n; i++)
        p[i] = (float)(i * 7919 % 1000) / 500.0f - 1.0f;
    return p;
}

struct job {
    void (*run)(struct job *j);
    void (*plain)(struct job *j); /* one image of the batch */
    struct eng_view a;
    struct eng_view b;
    struct eng_view c;
    struct eng_conv2d conv;
    int op;
    double work; /* flops, or bytes */
    double images;
};

struct cost {
    double wall; /* seconds of the fastest call */
    double cpu;  /* of all threads, in the call that took the least */
};

static struct cost best_of(void (*fn)(struct job *j), struct job *j, double seconds)
{
    struct cost best = {1e9, 1e9};
    double start = now();

    do {
        double t = now();
        double c = clock_of(CLOCK_PROCESS_CPUTIME_ID);

        fn(j);
        c = clock_of(CLOCK_PROCESS_CPUTIME_ID) - c;
        t = now() - t;
        best.wall = t < best.wall ? t : best.wall;
        best.cpu = c < best.cpu ? c : best.cpu;
    } while (now() - start < seconds);
    return best;
}

static struct cost report(const char *name, struct job *j, const char *unit)
{
    struct cost t = best_of(j->run, j, 0.3);
    double p = j->plain ? best_of(j->plain, j, 0.0).cpu * j->images : 0.0;

    printf("%-44s %9.1f us %8.1f %s %9.1f us %7.1f %s", name, t.wall * 1e6, j->work / t.wall * 1e-9,
           unit, t.cpu * 1e6, j->work / t.cpu * 1e-9, unit);
    if (p > 0.0)
        printf(" %6.1fx", p / t.cpu);
    printf("\n");
    fflush(stdout);
    return t;
}

/* ---- convolution ---- */

static void conv_forward(struct job *j)
{
    eng_kernels_cpu()->conv2d(&j->a, &j->b, NULL, &j->c, &j->conv);
}

static void conv_input(struct job *j)
{
    eng_kernels_cpu()->conv2d_backward_input(&j->c, &j->b, &j->a, &j->conv);
}

static void conv_weight(struct job *j)
{
    eng_kernels_cpu()->conv2d_backward_weight(&j->c, &j->a, &j->b, &j->conv);
}

static void conv_plain(struct job *j)
{
    const float *x = j->a.data;
    const float *w = j->b.data;
    float *y = j->c.data;
    int64_t ci = j->b.sizes[1];
    int64_t k = j->b.sizes[2];
    int64_t h = j->a.sizes[2];
    int64_t wd = j->a.sizes[3];
    int64_t ho = j->c.sizes[2];
    int64_t wo = j->c.sizes[3];
    int64_t group = j->c.sizes[1] / j->conv.groups;

    for (int64_t o = 0; o < j->c.sizes[1] * ho * wo; o++) {
        int64_t co = o / wo / ho;
        float sum = 0;

        for (int64_t c = 0; c < ci; c++) {
            for (int64_t r = 0; r < k; r++) {
                for (int64_t s = 0; s < k; s++) {
                    int64_t iy = o / wo % ho * j->conv.stride[0] - j->conv.padding[0] + r;
                    int64_t ix = o % wo * j->conv.stride[1] - j->conv.padding[1] + s;

                    if (iy >= 0 && ix >= 0 && iy < h && ix < wd)
                        sum += x[((co / group * ci + c) * h + iy) * wd + ix] *
                               w[((co * ci + c) * k + r) * k + s];
                }
            }
        }
        y[o] = sum;
    }
}

static void bench_conv(int64_t n, int64_t ci, int64_t co, int64_t size, int64_t k, int64_t stride,
                       int64_t groups, int times, struct cost *total)
{
    int64_t pad = k / 2;
    int64_t out = (size + 2 * pad - k) / stride + 1;
    struct job j = {.conv = {{stride, stride}, {pad, pad}, {1, 1}, groups}};
    char name[80];

    j.a = view4(values(n * ci * size * size), n, ci, size, size);
    j.b = view4(values(co * ci / groups * k * k), co, ci / groups, k, k);
    j.c = view4(values(n * co * out * out), n, co, out, out);
    j.work = 2.0 * (double)(n * co * out * out * ci / groups * k * k);
    j.images = (double)n;
    for (int pass = 0; pass < 3; pass++) {
        static const char *const names[] = {"fwd", "gx", "gw"};
        struct cost t;

        j.run = pass == 0 ? conv_forward : pass == 1 ? conv_input : conv_weight;
        j.plain = pass == 0 ? conv_plain : NULL;
        snprintf(name, sizeof(name), "conv %s %ldx%ldx%ldx%ld -> %ld k%ld s%ld g%ld", names[pass],
                 (long)n, (long)ci, (long)size, (long)size, (long)co, (long)k, (long)stride,
                 (long)groups);
        t = report(name, &j, "GF/s");
        total[pass].wall += t.wall * times;
        total[pass].cpu += t.cpu * times;
    }
    cpu_mem_put(j.a.data, (uint64_t)cpu_numel(&j.a) * 4);
    cpu_mem_put(j.b.data, (uint64_t)cpu_numel(&j.b) * 4);
    cpu_mem_put(j.c.data, (uint64_t)cpu_numel(&j.c) * 4);
}

static void bench_convolutions(void)
{
    struct cost total[3] = {{0.0, 0.0}};
    struct cost other[3] = {{0.0, 0.0}};

    bench_conv(8, 3, 64, 224, 7, 2, 1, 1, total);
    bench_conv(8, 64, 64, 56, 3, 1, 1, 4, total);
    bench_conv(8, 64, 128, 56, 3, 2, 1, 1, total);
    bench_conv(8, 64, 128, 56, 1, 2, 1, 1, total);
    bench_conv(8, 128, 128, 28, 3, 1, 1, 3, total);
    bench_conv(8, 128, 256, 28, 3, 2, 1, 1, total);
    bench_conv(8, 128, 256, 28, 1, 2, 1, 1, total);
    bench_conv(8, 256, 256, 14, 3, 1, 1, 3, total);
    bench_conv(8, 256, 512, 14, 3, 2, 1, 1, total);
    bench_conv(8, 256, 512, 14, 1, 2, 1, 1, total);
    bench_conv(8, 512, 512, 7, 3, 1, 1, 3, total);
    for (int i = 0; i < 3; i++)
        printf("resnet18, batch 8, 224, all convolutions, %s: %.1f ms, of processors %.1f ms\n",
               i == 0   ? "forward"
               : i == 1 ? "input"
                        : "weight",
               total[i].wall * 1e3, total[i].cpu * 1e3);
    bench_conv(8, 256, 64, 56, 1, 1, 1, 1, other);
    bench_conv(8, 64, 256, 56, 1, 1, 1, 1, other);
    bench_conv(8, 96, 96, 56, 3, 1, 96, 1, other);
    bench_conv(8, 96, 96, 112, 3, 2, 96, 1, other);
    bench_conv(64, 1, 6, 28, 5, 1, 1, 1, other);
}

/* ---- products ---- */

static void product(struct job *j)
{
    struct eng_view a = {
        j->a.data, VS_F32, 3, {1, j->a.sizes[0], j->a.sizes[1]}, {0, j->a.strides[0], 1}};
    struct eng_view b = {
        j->b.data, VS_F32, 3, {1, j->a.sizes[1], j->b.sizes[0]}, {0, 1, j->b.strides[0]}};
    struct eng_view c = {
        j->c.data, VS_F32, 3, {1, j->c.sizes[0], j->c.sizes[1]}, {0, j->c.strides[0], 1}};

    eng_kernels_cpu()->matmul(&a, &b, &c, 1.0, 0.0);
}

static void bench_product(int64_t m, int64_t n, int64_t k)
{
    struct job j = {.run = product, .work = 2.0 * (double)(m * n * k)};
    char name[80];

    j.a = view2(values(m * k), m, k);
    j.b = view2(values(n * k), n, k); /* a linear layer's weight */
    j.c = view2(values(m * n), m, n);
    snprintf(name, sizeof(name), "linear %ldx%ld -> %ld", (long)m, (long)k, (long)n);
    report(name, &j, "GF/s");
    cpu_mem_put(j.a.data, (uint64_t)(m * k) * 4);
    cpu_mem_put(j.b.data, (uint64_t)(n * k) * 4);
    cpu_mem_put(j.c.data, (uint64_t)(m * n) * 4);
}

/* ---- what is bound by memory ---- */

static void unary(struct job *j)
{
    eng_kernels_cpu()->unary((enum eng_unary)j->op, &j->a, &j->c, NULL);
}

static void unary_in_place(struct job *j)
{
    eng_kernels_cpu()->unary((enum eng_unary)j->op, &j->a, &j->a, NULL);
}

static void binary(struct job *j)
{
    double p[4] = {1, 1, 1, 1};

    eng_kernels_cpu()->binary((enum eng_binary)j->op, VS_F32, &j->a, &j->b, &j->c, p);
}

static void plain_relu(struct job *j)
{
    const float *x = j->a.data;
    float *y = j->c.data;

    for (int64_t i = 0; i < cpu_numel(&j->a); i++)
        y[i] = x[i] < 0 ? 0 : x[i];
}

static void plain_add(struct job *j)
{
    const float *a = j->a.data;
    const float *b = j->b.data;
    float *y = j->c.data;

    for (int64_t i = 0; i < cpu_numel(&j->a); i++)
        y[i] = a[i] + b[i];
}

static void softmax(struct job *j)
{
    eng_kernels_cpu()->softmax(&j->a, 1, j->op, &j->c);
}

static void sum_rows(struct job *j)
{
    struct eng_view out = {j->c.data, VS_F32, 2, {j->a.sizes[0], 1}, {1, 1}};

    eng_kernels_cpu()->reduce(ENG_R_SUM, &j->a, &out, 2, NULL);
}

static void sum_cols(struct job *j)
{
    struct eng_view out = {j->c.data, VS_F32, 2, {1, j->a.sizes[1]}, {1, 1}};

    eng_kernels_cpu()->reduce(ENG_R_SUM, &j->a, &out, 1, NULL);
}

static void transpose(struct job *j)
{
    struct eng_view t = {j->c.data, VS_F32, 2, {j->a.sizes[0], j->a.sizes[1]}, {1, j->a.sizes[0]}};

    eng_kernels_cpu()->copy(&j->a, &t);
}

static void to_half(struct job *j)
{
    struct eng_view h = j->c;

    h.dtype = j->op ? VS_BF16 : VS_F16;
    eng_kernels_cpu()->copy(&j->a, &h);
}

static void from_half(struct job *j)
{
    struct eng_view h = j->c;

    h.dtype = VS_F16;
    eng_kernels_cpu()->copy(&h, &j->a);
}

static void uniform(struct job *j)
{
    eng_kernels_cpu()->random_uniform(&j->a, 0, 1, (struct eng_rng_key){1, 2});
}

static void normal(struct job *j)
{
    eng_kernels_cpu()->random_normal(&j->a, 0, 1, (struct eng_rng_key){1, 2});
}

static void layer_norm(struct job *j)
{
    static float stats[2][1 << 16];
    int64_t n = j->a.sizes[1];
    struct eng_view w = {j->b.data, VS_F32, 1, {n}, {1}};
    struct eng_view mean = {stats[0], VS_F32, 1, {j->a.sizes[0]}, {1}};
    struct eng_view rstd = {stats[1], VS_F32, 1, {j->a.sizes[0]}, {1}};

    if (j->op == 0)
        eng_kernels_cpu()->layer_norm(&j->a, &w, &w, 1e-5, &j->c, &mean, &rstd);
    else
        eng_kernels_cpu()->layer_norm_backward(&j->a, &j->b, &w, &mean, &rstd, &j->c, &w, &w);
}

static void bench_rows(const char *name, void (*run)(struct job *j), void (*plain)(struct job *j),
                       int op, int64_t rows, int64_t cols, double bytes)
{
    struct job j = {.run = run, .plain = plain, .op = op, .images = 1};
    char text[80];
    uint64_t size = (uint64_t)(rows * cols) * sizeof(float);

    j.a = view2(values(rows * cols), rows, cols);
    j.b = view2(values(rows * cols), rows, cols);
    j.c = view2(values(rows * cols), rows, cols);
    j.work = bytes * (double)(rows * cols);
    snprintf(text, sizeof(text), "%s %ldx%ld", name, (long)rows, (long)cols);
    report(text, &j, "GB/s");
    cpu_mem_put(j.a.data, size);
    cpu_mem_put(j.b.data, size);
    cpu_mem_put(j.c.data, size);
}

static void batch_norm(struct job *j)
{
    float stats[4][512];
    int64_t c = j->a.sizes[1];
    struct eng_view x = {j->a.data,
                         VS_F32,
                         3,
                         {j->a.sizes[0], c, j->a.sizes[2] * j->a.sizes[3]},
                         {j->a.strides[0], j->a.strides[1], 1}};
    struct eng_view g = x;
    struct eng_view y = x;
    struct eng_view v[4];

    for (int i = 0; i < 4; i++) {
        v[i] = (struct eng_view){stats[i], VS_F32, 1, {c}, {1}};
        for (int64_t k = 0; k < c; k++)
            stats[i][k] = 1.0f;
    }
    g.data = j->b.data;
    y.data = j->c.data;
    if (j->op == 0)
        eng_kernels_cpu()->batch_norm_train(&x, &v[0], &v[1], NULL, NULL, 0.1, 1e-5, &y, &v[2],
                                            &v[3]);
    else
        eng_kernels_cpu()->batch_norm_backward(&g, &x, &v[0], &v[2], &v[3], true, &y, &v[0], &v[1]);
}

static void max_pool(struct job *j)
{
    static const struct eng_pool2d p = {{3, 3}, {2, 2}, {1, 1}, {1, 1}, false, 0};
    int64_t o = (j->a.sizes[2] - 1) / 2 + 1;
    struct eng_view y = view4(j->b.data, j->a.sizes[0], j->a.sizes[1], o, o);
    struct eng_view idx = y;

    idx.data = j->c.data;
    idx.dtype = VS_I64;
    if (j->op == 0)
        eng_kernels_cpu()->max_pool2d(&j->a, &y, &idx, &p);
    else
        eng_kernels_cpu()->max_pool2d_backward(&y, &idx, &j->a, &p);
}

static void bench_planes(const char *name, void (*run)(struct job *j), int op, int64_t n, int64_t c,
                         int64_t size, double bytes)
{
    struct job j = {.run = run, .op = op};
    int64_t total = n * c * size * size;
    char text[80];

    j.a = view4(values(total), n, c, size, size);
    j.b = view4(values(total), n, c, size, size);
    j.c = view4(values(total), n, c, size, size);
    j.work = bytes * (double)total;
    snprintf(text, sizeof(text), "%s %ldx%ldx%ldx%ld", name, (long)n, (long)c, (long)size,
             (long)size);
    if (run == max_pool && op == 1)
        max_pool(&(struct job){.op = 0, .a = j.a, .b = j.b, .c = j.c}); /* makes the indices */
    report(text, &j, "GB/s");
    cpu_mem_put(j.a.data, (uint64_t)total * 4);
    cpu_mem_put(j.b.data, (uint64_t)total * 4);
    cpu_mem_put(j.c.data, (uint64_t)total * 4);
}

static void attention(struct job *j)
{
    struct eng_rng_key key = {1, 1};
    struct eng_view q = j->a;
    struct eng_view k = j->b;

    if (j->op == 0)
        eng_kernels_cpu()->sdpa(&q, &k, &k, NULL, true, 0.125, 0.0, key, &j->c, NULL);
    else
        eng_kernels_cpu()->sdpa_backward(&q, &q, &k, &k, NULL, true, 0.125, 0.0, key, &q, NULL,
                                         &j->c, &j->c, &j->c);
}

int main(int argc, char **argv)
{
    bool all = argc < 2;

    printf("%d threads, rows for %s\n", cpu_thread_count(), cpu_rows()->isa);
    if (all || strcmp(argv[1], "conv") == 0)
        bench_convolutions();
    if (all || strcmp(argv[1], "gemm") == 0) {
        bench_product(1024, 768, 768);
        bench_product(1024, 3072, 768);
        bench_product(1024, 768, 3072);
        bench_product(8, 1000, 512);
        bench_product(64, 10, 10);
        bench_product(1024, 50257, 768);
    }
    if (all || strcmp(argv[1], "rows") == 0) {
        bench_rows("relu", unary, plain_relu, ENG_U_RELU, 4096, 1600, 8);
        bench_rows("relu in place", unary_in_place, NULL, ENG_U_RELU, 4096, 1600, 8);
        bench_rows("add", binary, plain_add, ENG_B_ADD, 4096, 1600, 12);
        bench_rows("add, small", binary, plain_add, ENG_B_ADD, 10, 100, 12);
        bench_rows("relu backward", binary, NULL, ENG_B_THRESHOLD_BACKWARD, 4096, 1600, 12);
        bench_rows("gelu", unary, NULL, ENG_U_GELU, 4096, 768, 8);
        bench_rows("gelu tanh", unary, NULL, ENG_U_GELU_TANH, 4096, 768, 8);
        bench_rows("gelu backward", binary, NULL, ENG_B_GELU_BACKWARD, 4096, 768, 12);
        bench_rows("silu", unary, NULL, ENG_U_SILU, 4096, 768, 8);
        bench_rows("exp", unary, NULL, ENG_U_EXP, 4096, 768, 8);
        bench_rows("tanh", unary, NULL, ENG_U_TANH, 4096, 768, 8);
        bench_rows("softmax", softmax, NULL, 0, 12288, 256, 8);
        bench_rows("log_softmax", softmax, NULL, 1, 256, 50257, 8);
        bench_rows("sum of rows", sum_rows, NULL, 0, 4096, 1600, 4);
        bench_rows("sum of columns", sum_cols, NULL, 0, 4096, 1600, 4);
        bench_rows("transposed copy", transpose, NULL, 0, 4096, 1600, 8);
        bench_rows("to f16", to_half, NULL, 0, 4096, 1600, 6);
        bench_rows("to bf16", to_half, NULL, 1, 4096, 1600, 6);
        bench_rows("from f16", from_half, NULL, 1, 4096, 1600, 6);
        bench_rows("uniform", uniform, NULL, 0, 4096, 1600, 4);
        bench_rows("normal", normal, NULL, 0, 4096, 1600, 4);
        bench_rows("layer_norm", layer_norm, NULL, 0, 4096, 768, 8);
        bench_rows("layer_norm backward", layer_norm, NULL, 1, 4096, 768, 12);
    }
    if (all || strcmp(argv[1], "planes") == 0) {
        bench_planes("batch_norm", batch_norm, 0, 8, 64, 112, 12);
        bench_planes("batch_norm backward", batch_norm, 1, 8, 64, 112, 20);
        bench_planes("batch_norm", batch_norm, 0, 8, 512, 7, 12);
        bench_planes("batch_norm backward", batch_norm, 1, 8, 512, 7, 20);
        bench_planes("max_pool", max_pool, 0, 8, 64, 112, 4);
        bench_planes("max_pool backward", max_pool, 1, 8, 64, 112, 4);
        bench_planes("attention 12 heads, 8x12x64x64 as BHLD", attention, 0, 8, 12, 64, 16);
        bench_planes("attention backward", attention, 1, 8, 12, 64, 32);
    }
    return 0;
}
