/*
 * tests/lang/run/test_run_ranks.c - what a run gives to the other processes of a training, here a second one that has
 * the same values. What real processes do is in tests/e2e/test_record_ranks.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "engine/device/kernels.h"
#include "ranks/ranks.h"
#include "tests/lang/run/net_run.h"

/* Calls so far, and the bytes of the last one; fails_at: the call of gather that fails, from 1. */
static struct {
    size_t gathers, scatters, reduces, broadcasts;
    size_t gathered, scattered, reduced;
    size_t of_the_other; /* broadcasts whose root is the other process */
    size_t fails_at;
} seen;

static enum vs_status gather(void *all, size_t bytes, struct vs_error *err)
{
    seen.gathered += bytes;
    if (++seen.gathers == seen.fails_at)
        return vs_fail(err, VS_E_IO, "the other process is gone");
    memcpy((char *)all + bytes, all, bytes);
    return VS_OK;
}

static enum vs_status reduce_scatter(const float *all, float *own, size_t elems,
                                     struct vs_error *err)
{
    (void)err;
    seen.scatters++;
    seen.scattered += elems;
    for (size_t i = 0; i < elems; i++)
        own[i] = 2 * all[i];
    return VS_OK;
}

static enum vs_status all_reduce(float *data, size_t elems, struct vs_error *err)
{
    (void)err;
    seen.reduces++;
    seen.reduced += elems;
    for (size_t i = 0; i < elems; i++)
        data[i] *= 2;
    return VS_OK;
}

static enum vs_status broadcast(void *data, size_t bytes, int root, struct vs_error *err)
{
    (void)data;
    (void)bytes;
    (void)err;
    seen.broadcasts++;
    seen.of_the_other += root == 1;
    return VS_OK;
}

static const struct vs_ranks TWO = {.rank = 0,
                                    .count = 2,
                                    .gather = gather,
                                    .reduce_scatter = reduce_scatter,
                                    .all_reduce = all_reduce,
                                    .broadcast = broadcast};

static void begin(struct net_run *r, const char *shard, bool has_data)
{
    memset(&seen, 0, sizeof(seen));
    memset(r, 0, sizeof(*r));
    r->settings.ranks = &TWO;
    r->settings.kernels = has_data ? eng_kernels_cpu() : NULL;
    net_run_set(r, "shard", shard);
    net_run_set(r, "world", "2");
    net_run_set(r, "steps", "2");
}

/*
 * The net is one unit, whose shards have 3 * 4 + 3 + 2 * 6 + 2 = 29 elements. Each step gathers them once, for its
 * parameters stay, and reduces once.
 */
static void a_fully_sharded_net_gathers_and_reduces_its_shards(void **state)
{
    struct net_run r;

    (void)state;
    begin(&r, "fsdp", true);
    net_run_ok(&r, NET_RUN_MLP);
    assert_int_equal(seen.gathers, 2);
    assert_int_equal(seen.gathered, 2 * 29 * 4);
    assert_int_equal(seen.scatters, 2);
    assert_int_equal(seen.scattered, 2 * 29);
    assert_int_equal(seen.reduces + seen.broadcasts, 0);
    assert_int_equal(r.result.warning_count, 0); /* the losses are those of a training */
    net_run_release(&r);
}

/* 51 parameters in four tensors: broadcast once, and reduced in each step. */
static void a_replicated_net_reduces_each_gradient(void **state)
{
    struct net_run r;

    (void)state;
    begin(&r, "ddp", true);
    net_run_ok(&r, NET_RUN_MLP);
    assert_int_equal(seen.broadcasts, 4);
    assert_int_equal(seen.reduces, 2 * 4);
    assert_int_equal(seen.reduced, 2 * 51);
    assert_int_equal(seen.gathers + seen.scatters, 0);
    net_run_release(&r);
}

static void without_data_nothing_is_sent(void **state)
{
    struct net_run r;

    (void)state;
    begin(&r, "fsdp", false);
    net_run_ok(&r, NET_RUN_MLP);
    assert_int_equal(seen.gathers + seen.scatters, 0);
    net_run_release(&r);
}

static void a_process_that_is_gone_ends_the_run(void **state)
{
    struct net_run r;

    (void)state;
    begin(&r, "fsdp", true);
    seen.fails_at = 2;
    net_run_text(&r, NET_RUN_MLP);
    assert_int_equal(r.st, VS_E_IO);
    assert_non_null(strstr(r.err.text, "the other process is gone"));
    assert_int_equal(seen.scatters, 1); /* of the first step */
    net_run_release(&r);
}

/*
 * Weights of 24 and 18 elements, biases of 6 and 3: largest first, each to the process with the fewest elements, so the
 * second weight and the first bias are the other process's. Each is broadcast by its owner after each step.
 */
static void a_sharded_optimizer_sends_what_it_has_updated(void **state)
{
    struct net_run r;

    (void)state;
    begin(&r, "zero1", true);
    net_run_ok(&r, NET_RUN_MLP);
    assert_int_equal(seen.broadcasts, 4 + 2 * 4);
    assert_int_equal(seen.of_the_other, 2 * 2);
    assert_int_equal(seen.reduces, 2 * 4);
    assert_int_equal(r.result.warning_count, 0);
    net_run_release(&r);
}

/* The loss of the second step, after one with a learning rate at which a wrong gradient would be seen. */
static double second_loss(const char *shard, const char *toggle, const char *value)
{
    struct net_run r;
    double loss;

    begin(&r, shard, true);
    if (toggle)
        net_run_set(&r, toggle, value);
    net_run_ok(&r, NET_RUN_MLP "defaults = dict(lr=0.5)\n");
    assert_int_equal(r.result.step_count, 2);
    assert_true(r.result.steps[1].loss_known);
    assert_true(seen.scatters + seen.reduces > 0);
    loss = r.result.steps[1].loss;
    net_run_release(&r);
    return loss;
}

static void gradients_of_half_precision_are_reduced(void **state)
{
    const double replicated = second_loss("ddp", NULL, NULL);
    const double sharded = second_loss("fsdp", NULL, NULL);

    (void)state;
    assert_float_equal(second_loss("ddp", "half", "on"), replicated, 1e-3);
    assert_float_equal(second_loss("fsdp", "half", "on"), sharded, 1e-3);
    assert_float_equal(second_loss("fsdp", "mp-policy", "bf16-reduce"), sharded, 5e-3);
}

/* A step is skipped by all processes or by none. */
static void what_a_scaler_found_is_reduced_over_all(void **state)
{
    struct net_run r;

    (void)state;
    begin(&r, "fsdp", true);
    net_run_set(&r, "amp", "fp16");
    net_run_ok(&r, NET_RUN_MLP);
    assert_int_equal(seen.reduces, 2);
    assert_int_equal(seen.reduced, 2);
    net_run_release(&r);
}

/* A process has its part of a batch that all make alike: the events are those of a run of its own. */
static void a_process_has_its_part_of_the_batch(void **state)
{
    struct net_run r, alone = {.st = VS_OK};

    (void)state;
    begin(&r, "ddp", true);
    net_run_ok(&r, NET_RUN_MLP);
    net_run_set(&alone, "shard", "ddp");
    net_run_set(&alone, "world", "2");
    net_run_set(&alone, "steps", "2");
    net_run_ok(&alone, NET_RUN_MLP);
    assert_int_equal(r.result.phase_count, alone.result.phase_count);
    for (size_t i = 0; i < r.result.phase_count; i++) {
        assert_int_equal(r.result.phases[i].requested_end, alone.result.phases[i].requested_end);
        assert_int_equal(r.result.phases[i].requested_peak, alone.result.phases[i].requested_peak);
    }
    net_run_release(&alone);
    net_run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fully_sharded_net_gathers_and_reduces_its_shards),
        cmocka_unit_test(a_replicated_net_reduces_each_gradient),
        cmocka_unit_test(without_data_nothing_is_sent),
        cmocka_unit_test(a_process_that_is_gone_ends_the_run),
        cmocka_unit_test(a_sharded_optimizer_sends_what_it_has_updated),
        cmocka_unit_test(gradients_of_half_precision_are_reduced),
        cmocka_unit_test(what_a_scaler_found_is_reduced_over_all),
        cmocka_unit_test(a_process_has_its_part_of_the_batch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
