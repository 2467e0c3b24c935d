/*
 * tests/whatif/grid/test_space.c - values, ranges and combinations of the toggles of a sweep.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "whatif/grid/space.h"

static void vary(struct wif_grid_space *space, const char *pair)
{
    struct vs_error err = VS_ERROR_INIT;

    if (wif_grid_space_vary(space, pair, &err))
        fail_msg("%s: %s", pair, err.text);
}

/* The texts of all configurations, a line each. */
static void check(struct wif_grid_space *space, const char *wanted)
{
    struct wif_grid_configs configs = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};

    if (wif_grid_space_list(space, &configs, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < configs.count; i++)
        vs_text_addf(&text, "%s\n", configs.items[i].text);
    assert_string_equal(vs_text_get(&text), wanted);
    vs_text_release(&text);
    wif_grid_configs_release(&configs);
    wif_grid_space_release(space);
}

static void check_values(const char *pair, const char *wanted)
{
    struct wif_grid_space space = {.count = 0};

    vary(&space, pair);
    check(&space, wanted);
}

static void a_range_is_doubled_or_goes_by_steps(void **state)
{
    (void)state;
    check_values("batch=8..64", "batch=8\nbatch=16\nbatch=32\nbatch=64\n");
    check_values("batch=3..20", "batch=3\nbatch=6\nbatch=12\n");
    check_values("batch=8..9", "batch=8\n");
    check_values("batch=8..30+8", "batch=8\nbatch=16\nbatch=24\n");
    check_values("rank=0..2+1", "rank=0\nrank=1\nrank=2\n");
    check_values("batch=1..2,16,8..9+1", "batch=1\nbatch=2\nbatch=16\nbatch=8\nbatch=9\n");
    check_values("batch=2147483647..2147483647", "batch=2147483647\n");
}

static void a_value_counts_once(void **state)
{
    struct wif_grid_space space = {.count = 0};

    (void)state;
    vary(&space, "batch=8,08,8..16");
    vary(&space, "batch=16,32");
    check(&space, "batch=8\nbatch=16\nbatch=32\n");
}

static void values_with_commas_have_bars_between(void **state)
{
    (void)state;
    check_values("inplace=off|relu1,relu2", "inplace=off\ninplace=relu1,relu2\n");
}

static void the_last_toggle_changes_first(void **state)
{
    struct wif_grid_space space = {.count = 0};

    (void)state;
    vary(&space, "checkpoint=off,blocks");
    vary(&space, "batch=1,2");
    check(&space, "batch=1 checkpoint=off\nbatch=2 checkpoint=off\nbatch=1 checkpoint=blocks\n"
                  "batch=2 checkpoint=blocks\n");
}

/*
 * Without processes `world` says nothing; with ddp `rank` does not, and without fsdp `reshard` and `mp-policy` do not.
 */
static void what_has_no_meaning_makes_no_configuration(void **state)
{
    struct wif_grid_space space = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    vary(&space, "shard=off,ddp,fsdp");
    vary(&space, "world=8,64");
    vary(&space, "reshard=on,off");
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "rank=1", &err), VS_OK);
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "grad-sync=last", &err), VS_OK);
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "shard-units=A", &err), VS_OK);
    check(&space, "shard=off\n"
                  "shard=ddp world=8 grad-sync=last\nshard=ddp world=64 grad-sync=last\n"
                  "shard=fsdp world=8 rank=1 shard-units=A reshard=on grad-sync=last\n"
                  "shard=fsdp world=8 rank=1 shard-units=A reshard=off grad-sync=last\n"
                  "shard=fsdp world=64 rank=1 shard-units=A reshard=on grad-sync=last\n"
                  "shard=fsdp world=64 rank=1 shard-units=A reshard=off grad-sync=last\n");
}

static void only_fully_shard_splits_sequences(void **state)
{
    struct wif_grid_space space = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    vary(&space, "shard=off,fsdp");
    vary(&space, "cp=1,4");
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "cp-rotate=alltoall", &err), VS_OK);
    check(&space, "shard=off\nshard=fsdp cp=1 cp-rotate=alltoall\n"
                  "shard=fsdp cp=4 cp-rotate=alltoall\n");
}

static void only_fully_shard_has_a_mesh_and_a_plan_where_tp_splits(void **state)
{
    struct wif_grid_space space = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    vary(&space, "shard=off,fsdp");
    vary(&space, "tp=1,2");
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "tp-plan=0:colwise", &err), VS_OK);
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "replicate=2", &err), VS_OK);
    check(&space, "shard=off\nshard=fsdp tp=1 replicate=2\n"
                  "shard=fsdp tp-plan=0:colwise tp=2 replicate=2\n");
    space = (struct wif_grid_space){.count = 0};
    vary(&space, "shard=off,fsdp"); /* the net file may set tp */
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "tp-plan=0:colwise", &err), VS_OK);
    check(&space, "shard=off\nshard=fsdp tp-plan=0:colwise\n");
}

static void tensor_parallelism_has_a_plan_and_syncs_no_gradients(void **state)
{
    struct wif_grid_space space = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    vary(&space, "shard=off,fsdp,tp");
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "rank=1", &err), VS_OK);
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "tp-plan=0:colwise", &err), VS_OK);
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "loss-parallel=on", &err), VS_OK);
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "grad-sync=last", &err), VS_OK);
    check(&space, "shard=off\n"
                  "shard=fsdp rank=1 tp-plan=0:colwise loss-parallel=on grad-sync=last\n"
                  "shard=tp rank=1 tp-plan=0:colwise loss-parallel=on\n");
}

static void only_pipelines_have_stages_and_microbatches(void **state)
{
    struct wif_grid_space space = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    vary(&space, "shard=off,fsdp,pp");
    vary(&space, "pp-schedule=1f1b,gpipe");
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "pp-split=2", &err), VS_OK);
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "microbatches=8", &err), VS_OK);
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "grad-sync=last", &err), VS_OK);
    check(&space, "shard=off\n"
                  "shard=fsdp grad-sync=last\n"
                  "shard=pp pp-split=2 microbatches=8 pp-schedule=1f1b\n"
                  "shard=pp pp-split=2 microbatches=8 pp-schedule=gpipe\n");
}

static void only_deepspeed_has_buckets_of_a_size(void **state)
{
    struct wif_grid_space space = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    vary(&space, "shard=ddp,fsdp,deepspeed-zero2");
    vary(&space, "reduce-bucket-size=1000,2000");
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "reshard=off", &err), VS_OK);
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "mp-policy=bf16", &err), VS_OK);
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "overlap-comm=on", &err), VS_OK);
    check(&space, "shard=ddp\n"
                  "shard=fsdp reshard=off mp-policy=bf16\n"
                  "shard=deepspeed-zero2 mp-policy=bf16 reduce-bucket-size=1000 overlap-comm=on\n"
                  "shard=deepspeed-zero2 mp-policy=bf16 reduce-bucket-size=2000 overlap-comm=on\n");
}

static void only_stage_3_of_deepspeed_prefetches(void **state)
{
    struct wif_grid_space space = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    vary(&space, "shard=fsdp,deepspeed-zero2,deepspeed-zero3");
    vary(&space, "stage3-prefetch-bucket-size=0,2000");
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "sub-group-size=500", &err), VS_OK);
    check(&space, "shard=fsdp\n"
                  "shard=deepspeed-zero2\n"
                  "shard=deepspeed-zero3 stage3-prefetch-bucket-size=0 sub-group-size=500\n"
                  "shard=deepspeed-zero3 stage3-prefetch-bucket-size=2000 sub-group-size=500\n");
}

/* The net may say how it is sharded, so nothing is left out where `shard` is not set. */
static void without_shard_all_values_of_world_are_run(void **state)
{
    (void)state;
    check_values("world=8,64", "world=8\nworld=64\n");
}

static void check_refused(const char *pair, const char *part)
{
    struct wif_grid_space space = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    assert_int_not_equal(wif_grid_space_vary(&space, pair, &err), VS_OK);
    if (!strstr(err.text, part))
        fail_msg("%s: \"%s\" is not in: %s", pair, part, err.text);
    assert_int_equal(space.count, 0);
    wif_grid_space_release(&space);
}

static void wrong_values_are_refused_by_name(void **state)
{
    (void)state;
    check_refused("batch", "is not TOGGLE=VALUES");
    check_refused("bacth=8", "batch");
    check_refused("batch=8..4", "the range 8..4 is empty");
    check_refused("batch=0..4", "0 cannot be doubled");
    check_refused("batch=1..4+0", "batch");
    check_refused("batch=8,,9", "batch");
    check_refused("amp=fp8", "fp16");
    check_refused("batch=1..20000+1", "more than 10000 values");
}

static void too_many_combinations_are_refused(void **state)
{
    struct wif_grid_space space = {.count = 0};
    struct wif_grid_configs configs = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    vary(&space, "batch=1..9000+1");
    vary(&space, "steps=1..12+1");
    assert_int_equal(wif_grid_space_list(&space, &configs, &err), VS_E_VALUE);
    assert_string_equal(err.text, "more than 100000 combinations");
    wif_grid_configs_release(&configs);
    wif_grid_space_release(&space);
}

static void a_toggle_that_is_set_cannot_vary(void **state)
{
    struct wif_grid_space space = {.count = 0};
    struct wif_grid_configs configs = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    vary(&space, "batch=1,2");
    assert_int_equal(vs_toggles_set_pair(&space.fixed, "batch=4", &err), VS_OK);
    assert_int_equal(wif_grid_space_list(&space, &configs, &err), VS_E_VALUE);
    assert_string_equal(err.text, "batch is set, and is to vary: give it once");
    wif_grid_configs_release(&configs);
    wif_grid_space_release(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_is_doubled_or_goes_by_steps),
        cmocka_unit_test(a_value_counts_once),
        cmocka_unit_test(values_with_commas_have_bars_between),
        cmocka_unit_test(the_last_toggle_changes_first),
        cmocka_unit_test(what_has_no_meaning_makes_no_configuration),
        cmocka_unit_test(only_fully_shard_splits_sequences),
        cmocka_unit_test(only_fully_shard_has_a_mesh_and_a_plan_where_tp_splits),
        cmocka_unit_test(tensor_parallelism_has_a_plan_and_syncs_no_gradients),
        cmocka_unit_test(only_pipelines_have_stages_and_microbatches),
        cmocka_unit_test(only_deepspeed_has_buckets_of_a_size),
        cmocka_unit_test(only_stage_3_of_deepspeed_prefetches),
        cmocka_unit_test(without_shard_all_values_of_world_are_run),
        cmocka_unit_test(wrong_values_are_refused_by_name),
        cmocka_unit_test(too_many_combinations_are_refused),
        cmocka_unit_test(a_toggle_that_is_set_cannot_vary),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
