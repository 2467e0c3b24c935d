/*
 * tests/engine/workspace/test_workspace.c - workspaces of a real GPU, in a run without data that repeats its run.
 *
 * Whole runs are in tests/facts/test_cuda_device.c; here are the text that is stored in traces, also a damaged one, and
 * the sizes that follow from shapes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/context.h"
#include "engine/device/workspace_sizes.h"
#include "engine/workspace/workspace_internal.h"

static struct eng *engine_with(const char *workspaces)
{
    struct eng_options options = {.workspaces = workspaces};
    struct vs_error err = VS_ERROR_INIT;
    struct eng *e = NULL;

    if (eng_new(&options, &e, &err))
        fail_msg("%s", err.text);
    return e;
}

/* A 3x3 convolution of [2,3,8,8] into [2,4,8,8]. */
static const int64_t X[] = {2, 3, 8, 8}, W[] = {4, 3, 3, 3}, Y[] = {2, 4, 8, 8};
static const struct eng_conv2d ONE = {{1, 1}, {1, 1}, {1, 1}, 1};

static struct eng_view image(const int64_t *sizes)
{
    struct eng_view v = {.dtype = VS_F32, .ndim = 4};

    memcpy(v.sizes, sizes, 4 * sizeof(*sizes));
    eng_contiguous_strides(sizes, 4, v.strides);
    return v;
}

/* Opens the workspaces of one convolution; returns the bytes allocated at most. */
static uint64_t bytes_of_conv(struct eng *e)
{
    struct eng_view x = image(X), w = image(W), y = image(Y);

    eng_run_conv2d(e, false, &x, &w, NULL, &y, &ONE);
    assert_null(eng_failed(e));
    return eng_alloc_stats_get(eng_alloc_of(e))->requested_bytes[ENG_STAT_ALL].peak;
}

#define LINE                                                                                       \
    "forward float32 2,3,8,8 4,3,3,3 2,4,8,8 stride 1,1 padding 1,1 dilation 1,1 groups 1 "        \
    "contiguous xwy: 5000 700 0\n"

static void workspace_measurements_are_read_back_as_written(void **state)
{
    struct eng *e = engine_with("gpu 86\n" LINE);
    struct eng_workspaces_notes notes = eng_workspaces_notes_make(e);

    (void)state;
    assert_string_equal(notes.measured, "gpu 86\n" LINE);
    assert_null(notes.unmeasured);
    assert_null(notes.shortages);
    assert_int_equal(eng_workspaces_capability(e), 86);
    assert_int_equal(bytes_of_conv(e), 5000);
    eng_workspaces_notes_release(&notes);
    eng_free(e);
}

/* A trace can come from an untrusted source. */
static void malformed_workspace_lines_are_ignored(void **state)
{
    struct eng *e =
        engine_with("\n:\n: \nforward\nforward: \nforward: x\nforward: 99999999999999999999\n"
                    "gpu\ngpu x\n" LINE "gpu 90\nlast: 1");
    struct eng_workspaces_notes notes = eng_workspaces_notes_make(e);

    (void)state;
    assert_string_equal(notes.measured, "gpu 90\n" LINE "last: 1\n");
    assert_int_equal(bytes_of_conv(e), 5000);
    eng_workspaces_notes_release(&notes);
    eng_free(e);
}

static void an_unmeasured_convolution_has_no_workspace(void **state)
{
    struct eng *e = engine_with("gpu 86\n");

    (void)state;
    assert_int_equal(bytes_of_conv(e), 0);
    eng_free(e);
}

/* 3 MiB are free: a segment for 5 MiB is 20 MiB, one for 3 MiB too; 1,000 bytes are in one of 2 MiB. */
static void the_first_algorithm_whose_workspace_fits_is_chosen(void **state)
{
    static const char text[] = "gpu 86\nforward float32 2,3,8,8 4,3,3,3 2,4,8,8 stride 1,1 padding "
                               "1,1 dilation 1,1 groups 1 contiguous xwy: 5242880 3145728 1000 0\n";
    struct eng_options options = {.workspaces = text, .capacity = UINT64_C(3) << 20};
    struct vs_error err = VS_ERROR_INIT;
    struct eng *e = NULL;

    (void)state;
    if (eng_new(&options, &e, &err))
        fail_msg("%s", err.text);
    assert_int_equal(bytes_of_conv(e), 1000);
    assert_false(eng_oom_get(e, &(struct eng_oom){0}));
    eng_free(e);
}

static void sizes_follow_from_shapes(void **state)
{
    struct eng_view x = {.dtype = VS_F32, .ndim = 1, .sizes = {100000}, .strides = {1}};
    struct eng_view one = {.dtype = VS_F32, .ndim = 1, .sizes = {1}};
    struct eng_view q = {.dtype = VS_F16, .ndim = 4, .sizes = {2, 4, 512, 64}};
    struct eng_view long_q = {.dtype = VS_F16, .ndim = 4, .sizes = {1, 8, 8192, 64}};
    struct eng_view turned = {.dtype = VS_F32, .ndim = 3, .sizes = {1, 5, 7}, .strides = {0, 1, 5}};
    struct eng_view odd = {.dtype = VS_F32, .ndim = 3, .sizes = {1, 5, 7}, .strides = {0, 14, 2}};

    (void)state;
    /* 100,000 elements in pieces of 16,384 are 7, a double each */
    assert_int_equal(eng_workspace_reduce(ENG_R_SUM, &x, &one), 56);
    assert_int_equal(eng_workspace_reduce(ENG_R_VAR, &x, &one), 0);
    /* 2*4*512 rows of 512 scores, a float and a half each, are 12 MiB; of rows of 8,192 scores 64 MiB contain 1,365 */
    assert_int_equal(eng_workspace_sdpa(&q, &q), 12 << 20);
    assert_int_equal(eng_workspace_sdpa(&long_q, &long_q), 1365 * 8192 * 6);
    /* backward has two of each: of 8 heads of 512 * 512 scores; of one head at least, of 8,192 * 8,192 */
    assert_int_equal(eng_workspace_sdpa_backward(&q, &q), 24 << 20);
    assert_int_equal(eng_workspace_sdpa_backward(&long_q, &long_q), 768 << 20);
    /* columns are read in place, every other element is not: 35 floats, 256 bytes per part */
    assert_int_equal(eng_workspace_operand(&turned), 0);
    assert_int_equal(eng_workspace_operand(&odd), 256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workspace_measurements_are_read_back_as_written),
        cmocka_unit_test(malformed_workspace_lines_are_ignored),
        cmocka_unit_test(an_unmeasured_convolution_has_no_workspace),
        cmocka_unit_test(the_first_algorithm_whose_workspace_fits_is_chosen),
        cmocka_unit_test(sizes_follow_from_shapes),
    };

    return cmocka_run_group_tests_name("engine/workspaces", tests, NULL, NULL);
}
