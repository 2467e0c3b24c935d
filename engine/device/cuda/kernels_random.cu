/*
 * engine/device/cuda/kernels_random.cu - random values, and the hashed values of the oracle.
 *
 * For:            the table.
 * Must not know:  where the seed comes from.
 * Invariant:      element i in row-major order is number i of the stream, as on the CPU.
 */
#include "engine/device/cuda/cuda_kernels.h"
#include "engine/device/cuda/cuda_rows.cuh"
#include "engine/device/cuda/cuda_views.cuh"

enum kind { UNIFORM, NORMAL, BERNOULLI };

struct make {
    int kind;
    uint64_t start;
    double a, b;
};

VS_GPU static void one(const make &m, uint64_t i, float *y)
{
    if (m.kind == UNIFORM)
        uniform_f32(m.start, i, 1, m.a, m.b, y);
    else if (m.kind == NORMAL)
        normal_f32(m.start, i, 1, m.a, m.b, y);
    else
        bernoulli_f32(m.start, i, 1, m.a, y);
}

VS_GPU static void one(const make &m, uint64_t i, double *y)
{
    if (m.kind == UNIFORM)
        uniform_f64(m.start, i, 1, m.a, m.b, y);
    else if (m.kind == NORMAL)
        normal_f64(m.start, i, 1, m.a, m.b, y);
    else
        bernoulli_f64(m.start, i, 1, m.a, y);
}

template <class T> static void run(const struct eng_view *out, make m)
{
    cuda_call call;
    cuda_view to = call.out(out);

    cuda_each(cuda_numel(out), VS_BODY(int64_t i) {
        T y = (T)0;

        one(m, (uint64_t)i, &y);
        cuda_set<T>(to, i, y);
    });
}

static void fill_with(const struct eng_view *out, int kind, struct eng_rng_key key, double a,
                      double b)
{
    make m = {kind, cpu_rng_start(key), a, b};

    if (cuda_numel(out) == 0)
        return;
    CUDA_FOR_REAL(cuda_kind_of(out->dtype), run<T>(out, m));
}

void cuda_random_uniform(const struct eng_view *out, double low, double high,
                         struct eng_rng_key key)
{
    if (cuda_all_host(out))
        cuda_host()->random_uniform(out, low, high, key);
    else
        fill_with(out, UNIFORM, key, low, high);
}

void cuda_random_normal(const struct eng_view *out, double mean, double std, struct eng_rng_key key)
{
    if (cuda_all_host(out))
        cuda_host()->random_normal(out, mean, std, key);
    else
        fill_with(out, NORMAL, key, mean, std);
}

void cuda_random_bernoulli(const struct eng_view *out, double p, struct eng_rng_key key)
{
    if (cuda_all_host(out))
        cuda_host()->random_bernoulli(out, p, key);
    else
        fill_with(out, BERNOULLI, key, p, 0.0);
}

/* (bits * width) >> 64: a number in [0, width), without a division */
VS_GPU static uint64_t in_width(uint64_t bits, uint64_t width)
{
    uint64_t lo = (bits & 0xffffffffu) * (width & 0xffffffffu);
    uint64_t mid = (bits >> 32) * (width & 0xffffffffu) + (lo >> 32);
    uint64_t mid2 = (bits & 0xffffffffu) * (width >> 32) + (mid & 0xffffffffu);

    return (bits >> 32) * (width >> 32) + (mid >> 32) + (mid2 >> 32);
}

void cuda_random_int(const struct eng_view *out, int64_t low, int64_t high, struct eng_rng_key key)
{
    if (cuda_all_host(out)) {
        cuda_host()->random_int(out, low, high, key);
        return;
    }
    if (cuda_numel(out) == 0)
        return;
    cuda_call call;
    cuda_view to = call.out(out);
    uint64_t start = cpu_rng_start(key);
    uint64_t width = (uint64_t)high - (uint64_t)low;

    cuda_each(cuda_numel(out), VS_BODY(int64_t i) {
        uint64_t v = in_width(cpu_rng_bits(start, (uint64_t)i), width);

        cuda_set<int64_t>(to, i, (int64_t)((uint64_t)low + v));
    });
}

VS_GPU static uint32_t formula_hash(uint32_t key, uint32_t i)
{
    uint32_t h = i * 0x9e3779b1u + (key * 0x85ebca6bu + 0x12345u);

    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ h >> 16;
}

/* Computed in float for every dtype, rounded after each operation. */
void cuda_fill_formula(const struct eng_view *out, uint32_t key, double offset, double scale)
{
    if (cuda_all_host(out)) {
        cuda_host()->fill_formula(out, key, offset, scale);
        return;
    }
    if (cuda_numel(out) == 0)
        return;
    cuda_call call;
    cuda_view to = call.out(out);
    float base = (float)offset;
    float factor = (float)scale;

    cuda_each(cuda_numel(out), VS_BODY(int64_t i) {
        float v = (float)(formula_hash(key, (uint32_t)i) >> 8) * 0x1p-23f - 1.0f;
        /* no fused multiply-add, because the oracle rounds twice */
        volatile float scaled = v * factor;

        cuda_set<float>(to, i, base != 0.0f ? base + scaled : scaled);
    });
}

void cuda_fill_formula_int(const struct eng_view *out, uint32_t key, int64_t low, int64_t high)
{
    if (cuda_all_host(out)) {
        cuda_host()->fill_formula_int(out, key, low, high);
        return;
    }
    if (cuda_numel(out) == 0)
        return;
    cuda_call call;
    cuda_view to = call.out(out);
    uint64_t width = (uint64_t)high - (uint64_t)low;

    cuda_each(cuda_numel(out), VS_BODY(int64_t i) {
        uint64_t v = (uint64_t)(formula_hash(key, (uint32_t)i) >> 8) % width;

        cuda_set<int64_t>(to, i, (int64_t)((uint64_t)low + v));
    });
}
