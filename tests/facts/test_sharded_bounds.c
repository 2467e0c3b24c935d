/*
 * tests/facts/test_sharded_bounds.c - the upper bounds that PyTorch's own test asserts of fully_shard
 * (test/distributed/_composable/fsdp/test_fully_shard_memory.py of PyTorch 2.15): ours keeps them, too.
 *
 * Bounds are of millions of bytes, as there, and of the peak since the beginning, or since the optimizer's step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "tests/facts/facts.h"

#define WIDTH 768.0
/* Elements of a block: four matrices of attention, two norms, the feed-forward part. */
#define BLOCK (4 * WIDTH * WIDTH + 4 * WIDTH + 2 * 4 * WIDTH * WIDTH + 5 * WIDTH)
/* What is in no block: embeddings of 32 tokens and 16 positions, a norm, the output layer. */
#define ROOT (32 * WIDTH + 16 * WIDTH + 2 * WIDTH + 32 * WIDTH)
#define WHOLE (3 * BLOCK + ROOT)
#define SHARD (WHOLE / 2)

static double mb(double bytes)
{
    return round(bytes / 1e6);
}

/* The highest peak of the phases up to `last` of step 0. */
static double peak_until(const struct facts_run *run, enum vs_phase last)
{
    uint64_t peak = facts_phase(run, -1, VS_PHASE_SETUP)->allocated_peak;

    for (int phase = VS_PHASE_DATA; phase <= (int)last; phase++) {
        const uint64_t of_phase = facts_phase(run, 0, (enum vs_phase)phase)->allocated_peak;

        peak = of_phase > peak ? of_phase : peak;
    }
    return mb((double)peak);
}

static void at_most(const char *what, double is, double bound)
{
    if (is > bound || is < bound / 2)
        fail_msg("%s: %.0f MB, at most %.1f, and not less than half of it", what, is, bound);
}

static void not_above(const char *what, double is, double bound)
{
    if (is > bound)
        fail_msg("%s: %.0f MB, at most %.1f", what, is, bound);
}

static void check(const char *toggles, bool reshards, bool is_on_host)
{
    struct facts_net net = facts_net_read("tests/nets/shard/transformer.py");
    struct facts_run run = facts_run_net(&net, toggles, false, NULL);
    const double of_shards = is_on_host ? 0 : SHARD; /* one copy of them on the device */
    const struct lang_run_phase *setup = facts_phase(&run, -1, VS_PHASE_SETUP);
    double bound;

    assert_int_equal(run.result.parameters, (uint64_t)WHOLE);
    bound = (is_on_host ? 1.5 * BLOCK : SHARD + BLOCK) * 4 / 1e6;
    at_most("peak of sharding", mb((double)setup->allocated_peak), bound + 4);
    not_above("after sharding", mb((double)setup->allocated_end), bound);
    /* gathered, copied out and the next one gathered; or all parameters and one copied out */
    bound = reshards ? 3 * BLOCK + ROOT + of_shards : SHARD + WHOLE + BLOCK;
    at_most("forward", peak_until(&run, VS_PHASE_FORWARD), bound * 4 / 1e6 + 16);
    /* gathered, copied out, gradients and the input of the reduce-scatter; or all parameters and in- and output */
    bound = reshards ? 4 * BLOCK + ROOT + 2 * of_shards : SHARD + WHOLE + 1.5 * BLOCK;
    at_most("backward", peak_until(&run, VS_PHASE_BACKWARD), bound * 4 / 1e6 + 16);
    /* shards, their gradients and two states of Adam; then without the gradients */
    bound = 4 * of_shards * 4 / 1e6 + 16;
    not_above("optimizer", mb((double)facts_phase(&run, 0, VS_PHASE_OPTIMIZER)->allocated_peak),
              bound);
    bound = is_on_host ? 0 : 3 * SHARD * 4 / 1e6 + 32;
    not_above("after zero_grad()",
              mb((double)facts_phase(&run, 0, VS_PHASE_ZERO_GRAD)->allocated_end), bound);
    facts_run_release(&run);
    facts_net_release(&net);
}

static void memory_of_fully_shard_is_within_pytorchs_own_bounds(void **state)
{
    (void)state;
    check("reshard=on", true, false);
    check("reshard=off", false, false);
    check("reshard=on offload-policy=cpu", true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_fully_shard_is_within_pytorchs_own_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
