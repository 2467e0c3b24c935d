/*
 * tests/engine/device/test_cpu_copy.c - copies between dtypes and strides, fill, item; the device's memory cache; its
 * threads.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/device/cpu/cpu_half.h"
#include "engine/device/cpu/cpu_internal.h"
#include "tests/engine/device/cpu_views.h"

static const struct eng_scalar three = {true, 3, 3.0};

static void copies_convert_between_all_dtypes(void **state)
{
    struct tv_rng r = {42};

    (void)state;
    for (int from = 0; from < VS_DTYPE_COUNT; from++) {
        for (int to = 0; to < VS_DTYPE_COUNT; to++) {
            for (int t = 0; t < 4; t++) {
                int64_t sizes[] = {tv_int(&r, 1, 5), tv_int(&r, 1, 40), tv_int(&r, 1, 60)};
                struct tv x = tv_make_broadcast(&r, (enum vs_dtype)from, 3, sizes,
                                                tv_any_layout(&r), t == 3 ? 2u : 0u);
                struct tv y = tv_make(&r, (enum vs_dtype)to, 3, sizes, tv_any_layout(&r));
                double *want = vs_calloc((size_t)tv_numel(&x.v), sizeof(double));

                tv_fill(&r, &x.v, to == VS_U8 ? 0 : -90, 90);
                for (int64_t i = 0; i < tv_numel(&x.v); i++)
                    want[i] = tv_rounded((enum vs_dtype)to, tv_get(&x.v, i));
                eng_kernels_cpu()->copy(&x.v, &y.v);
                tv_assert_near("copy", &y.v, want, 0, 0);
                assert_true(tv_padding_is_intact(&y));
                tv_free(&x);
                tv_free(&y);
                vs_free(want);
            }
        }
    }
}

static void large_transposes_move_every_element(void **state)
{
    struct tv_rng r = {4};
    static const enum vs_dtype dtypes[] = {VS_U8, VS_F16, VS_F32, VS_F64};
    int64_t sizes[] = {3, 71, 135};

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        struct tv x = tv_make(&r, dtypes[k], 3, sizes, TV_PLAIN);
        struct tv y = tv_make(&r, dtypes[k], 3, sizes, TV_PLAIN);
        struct eng_view xt = x.v;
        struct eng_view yt = y.v;

        /* y's memory is x's with the last two dims exchanged */
        yt.strides[1] = 1;
        yt.strides[2] = sizes[1];
        tv_fill(&r, &x.v, 0, 200);
        eng_kernels_cpu()->copy(&xt, &yt);
        for (int64_t i = 0; i < tv_numel(&xt); i++)
            assert_memory_equal(tv_at(&xt, i), tv_at(&yt, i), vs_dtype_bytes(dtypes[k]));
        tv_free(&x);
        tv_free(&y);
    }
}

static void all_half_floats_survive_a_round_trip(void **state)
{
    uint16_t bits[65536];
    float wide[65536];
    uint16_t back[65536];
    struct eng_view vb = {bits, VS_F16, 1, {65536}, {1}};
    struct eng_view vw = {wide, VS_F32, 1, {65536}, {1}};
    struct eng_view vr = {back, VS_F16, 1, {65536}, {1}};

    (void)state;
    for (int pass = 0; pass < 2; pass++) {
        vb.dtype = vr.dtype = pass ? VS_BF16 : VS_F16;
        for (int i = 0; i < 65536; i++)
            bits[i] = (uint16_t)i;
        eng_kernels_cpu()->copy(&vb, &vw);
        eng_kernels_cpu()->copy(&vw, &vr);
        for (int i = 0; i < 65536; i++) {
            double want = tv_get(&vb, i);

            if (isnan(want)) {
                assert_true(isnan(wide[i]) && isnan(tv_get(&vr, i)));
            } else {
                assert_true((double)wide[i] == want);
                assert_int_equal(back[i], bits[i]);
            }
        }
    }
}

static void floats_round_to_the_nearest_even_half(void **state)
{
    struct tv_rng r = {17};

    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint32_t u = (uint32_t)tv_next(&r);
        float f = cpu_float_of(i % 2 ? u : (u & 0x807fffffu) | (uint32_t)tv_int(&r, 95, 145) << 23);
        double want;

        if (isnan(f))
            continue;
        want = tv_rounded(VS_F16, (double)f);
        if ((double)cpu_f16_to_f32(cpu_f32_to_f16(f)) != want)
            fail_msg("f16 of %.9g", (double)f);
        want = tv_rounded(VS_BF16, (double)f);
        if ((double)cpu_bf16_to_f32(cpu_f32_to_bf16(f)) != want)
            fail_msg("bf16 of %.9g", (double)f);
    }
    /* halfway cases: 1 + 2^-11 to 1, 1 + 3*2^-11 to 1 + 2^-9; 65519.99 down, 65520 up to infinity */
    assert_int_equal(cpu_f32_to_f16(1.00048828125f), 0x3c00);
    assert_int_equal(cpu_f32_to_f16(1.00146484375f), 0x3c02);
    assert_int_equal(cpu_f32_to_f16(65519.0f), 0x7bff);
    assert_int_equal(cpu_f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(cpu_f32_to_f16(0x1p-25f), 0);
    assert_int_equal(cpu_f32_to_f16(0x1.8p-25f), 1);
    assert_int_equal(cpu_f32_to_f16(-0.0f), 0x8000);
}

static void out_of_range_floats_become_the_smallest_integer(void **state)
{
    float x[5] = {NAN, INFINITY, -INFINITY, 3e9f, -1.9f};
    int32_t i32[5];
    int64_t i64[5];
    unsigned char b[5];
    struct eng_view vx = {x, VS_F32, 1, {5}, {1}};
    struct eng_view v32 = {i32, VS_I32, 1, {5}, {1}};
    struct eng_view v64 = {i64, VS_I64, 1, {5}, {1}};
    struct eng_view vb = {b, VS_BOOL, 1, {5}, {1}};

    (void)state;
    eng_kernels_cpu()->copy(&vx, &v32);
    eng_kernels_cpu()->copy(&vx, &v64);
    eng_kernels_cpu()->copy(&vx, &vb);
    assert_int_equal(i32[0], INT32_MIN);
    assert_int_equal(i32[3], INT32_MIN);
    assert_int_equal(i32[4], -1);
    assert_true(i64[0] == INT64_MIN && i64[1] == INT64_MIN && i64[3] == INT64_C(3000000000));
    for (int i = 0; i < 5; i++)
        assert_int_equal(b[i], 1);
}

static void fill_reaches_every_element_and_no_other(void **state)
{
    struct tv_rng r = {6};

    (void)state;
    for (int d = 0; d < VS_DTYPE_COUNT; d++) {
        for (int t = 0; t < 3; t++) {
            int64_t sizes[] = {7, 9, 5};
            struct tv x = tv_make(&r, (enum vs_dtype)d, 3, sizes, (enum tv_layout)t);

            eng_kernels_cpu()->fill(&x.v, three);
            for (int64_t i = 0; i < tv_numel(&x.v); i++)
                assert_true(tv_get(&x.v, i) == (d == VS_BOOL ? 1 : 3));
            assert_true(tv_padding_is_intact(&x));
            tv_free(&x);
        }
    }
}

static void integers_beyond_doubles_are_kept(void **state)
{
    int64_t x[2] = {0, 0};
    struct eng_view v = {x, VS_I64, 1, {2}, {1}};
    struct eng_view one = {x, VS_I64, 0, {0}, {0}};
    struct eng_scalar big = {true, (INT64_C(1) << 62) + 1, 0x1p62};
    struct eng_scalar got;

    (void)state;
    eng_kernels_cpu()->fill(&v, big);
    assert_true(x[0] == big.i && x[1] == big.i);
    got = eng_kernels_cpu()->item(&one);
    assert_true(got.is_int && got.i == big.i);
}

static void item_reads_floats_as_doubles(void **state)
{
    uint16_t h = 0x3e00;
    struct eng_view v = {&h, VS_F16, 1, {1}, {5}};
    struct eng_scalar got = eng_kernels_cpu()->item(&v);

    (void)state;
    assert_false(got.is_int);
    assert_true(got.f == 1.5);
}

static void memory_is_aligned_and_comes_back_from_the_cache(void **state)
{
    const struct eng_kernels *k = eng_kernels_cpu();
    uint64_t in_use;
    uint64_t before;
    uint64_t cached;

    (void)state;
    cpu_mem_trim();
    cpu_mem_stats(&before, &cached);
    assert_int_equal(cached, 0);
    for (uint64_t bytes = 1; bytes < (UINT64_C(1) << 26); bytes = bytes * 3 + 1) {
        unsigned char *p = k->mem_get(bytes);

        assert_int_equal((uintptr_t)p % 64, 0);
        p[0] = 1;
        p[bytes - 1] = 2;
        k->mem_put(p, bytes);
    }
    cpu_mem_stats(&in_use, &cached);
    assert_int_equal(in_use, before);
    /* all of that was in use one after the other: no more than the largest and the slack is kept */
    assert_true(cached <= (UINT64_C(1) << 26) + (UINT64_C(1) << 24) + (UINT64_C(64) << 20));
    cpu_mem_trim();
    cpu_mem_stats(&in_use, &cached);
    assert_int_equal(cached, 0);
}

static void cached_memory_is_bounded_by_memory_in_use(void **state)
{
    const struct eng_kernels *k = eng_kernels_cpu();
    uint64_t in_use;
    uint64_t cached;
    void *p;

    (void)state;
    cpu_mem_trim();
    /* 40 sizes of about 20 MiB, never two at a time; all but a few must have been given back */
    for (uint64_t i = 0; i < 40; i++) {
        uint64_t bytes = (UINT64_C(8) + i) << 20;

        p = k->mem_get(bytes);
        k->mem_put(p, bytes);
    }
    cpu_mem_stats(&in_use, &cached);
    assert_true(cached <= (UINT64_C(47) << 20) * 3 / 2 + (UINT64_C(64) << 20));
    cpu_mem_trim();
}

struct count {
    int64_t seen[1000];
};

static void count_task(void *ctx, int64_t task)
{
    struct count *c = ctx;

    c->seen[task]++;
}

static void count_nested(void *ctx, int64_t task)
{
    struct count *c = ctx;

    cpu_parallel(10, count_task, &c[task]);
}

static void every_task_runs_once(void **state)
{
    struct count *c = vs_calloc(3, sizeof(*c));

    (void)state;
    assert_true(cpu_thread_count() >= 1);
    for (int round = 0; round < 200; round++)
        cpu_parallel(1000, count_task, c);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(c->seen[i], 200);
    memset(c, 0, 3 * sizeof(*c));
    cpu_parallel(3, count_nested, c);
    for (int i = 0; i < 30; i++)
        assert_int_equal(c[i / 10].seen[i % 10], 1);
    vs_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_convert_between_all_dtypes),
        cmocka_unit_test(large_transposes_move_every_element),
        cmocka_unit_test(all_half_floats_survive_a_round_trip),
        cmocka_unit_test(floats_round_to_the_nearest_even_half),
        cmocka_unit_test(out_of_range_floats_become_the_smallest_integer),
        cmocka_unit_test(fill_reaches_every_element_and_no_other),
        cmocka_unit_test(integers_beyond_doubles_are_kept),
        cmocka_unit_test(item_reads_floats_as_doubles),
        cmocka_unit_test(memory_is_aligned_and_comes_back_from_the_cache),
        cmocka_unit_test(cached_memory_is_bounded_by_memory_in_use),
        cmocka_unit_test(every_task_runs_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
