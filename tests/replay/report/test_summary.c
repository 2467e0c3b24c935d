/*
 * tests/replay/report/test_summary.c - the summary of small traces, compared with figures calculated by hand beside
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/report/summary.h"
#include "tests/replay/make_trace.h"

/*
 * Block bytes are multiples of 512: 1000 -> 1024, 2000 -> 2048, 3000 -> 3072.
 *
 * setup     parameter 1000                                          1024
 * step 0    forward: activation 2000 (saved), 3000, freed             1024 + 2048 + 3072 = 6144, end 3072
 *           loss: temporary 4                                        end 3584
 *           backward: gradient 1000; activation freed                peak 4608, end 2560 (1024 + 512 + 1024)
 * step 1    forward: 3000 twice while recomputing, freed             2560 + 6144 = 8704
 */
static struct rpl_trace *example(uint64_t *peak_event)
{
    struct make m;

    make_init(&m);
    make_step(&m, -1);
    make_phase(&m, VS_PHASE_SETUP);
    make_segment(&m, VS_EV_SEGMENT_ALLOC, 2097152);
    make_alloc(&m, 1000, VS_CAT_PARAMETER);
    make_step(&m, 0);
    make_phase(&m, VS_PHASE_FORWARD);
    make_alloc(&m, 2000, VS_CAT_ACTIVATION);
    make_save(&m, VS_EV_SAVE, 1, 1, false);
    make_save(&m, VS_EV_SAVE, 2, 1, false);
    make_save(&m, VS_EV_SAVE, 2, 2, false);
    make_event(&m, (struct vs_event){.kind = VS_EV_CATEGORY,
                                     .category = {.block = 2, .category = VS_CAT_SAVED}});
    make_alloc(&m, 3000, VS_CAT_ACTIVATION);
    make_free(&m, 3, 3000);
    make_phase(&m, VS_PHASE_LOSS);
    make_alloc(&m, 4, VS_CAT_TEMPORARY);
    make_phase(&m, VS_PHASE_BACKWARD);
    make_alloc(&m, 1000, VS_CAT_GRADIENT);
    make_save(&m, VS_EV_UNSAVE, 2, 1, false);
    make_save(&m, VS_EV_UNSAVE, 2, 2, false);
    make_free(&m, 2, 2000);
    make_step(&m, 1);
    make_phase(&m, VS_PHASE_FORWARD);
    make_segment(&m, VS_EV_SEGMENT_ALLOC, 2097152);
    make_event(&m, (struct vs_event){.kind = VS_EV_RECOMPUTE_BEGIN});
    m.module = "layer1";
    m.line = 25;
    make_op(&m, VS_EV_OP_BEGIN, "relu", 0, 2, 0);
    make_alloc(&m, 3000, VS_CAT_ACTIVATION);
    *peak_event = make_alloc(&m, 3000, VS_CAT_TEMPORARY);
    make_free(&m, 6, 3000);
    make_free(&m, 7, 3000);
    make_op(&m, VS_EV_OP_END, "relu", 0, 2, 70);
    make_op(&m, VS_EV_OP_BEGIN, "detach", 0, 2, 0);
    make_op(&m, VS_EV_OP_END, "detach", 0, 2, 0);
    make_event(&m, (struct vs_event){.kind = VS_EV_RECOMPUTE_END});
    make_op(&m, VS_EV_OP_BEGIN, "relu", 0, 0, 0);
    make_op(&m, VS_EV_OP_END, "relu", 0, 0, 5);
    make_segment(&m, VS_EV_SEGMENT_FREE, 2097152);
    rpl_trace_set_loss(m.trace, 0, 2.5);
    return m.trace;
}

static void the_peak_is_the_first_highest_point_with_its_location(void **state)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    uint64_t event;
    struct rpl_trace *trace = example(&event);
    const struct vs_location *location;

    (void)state;
    assert_int_equal(rpl_summary_fill(&sum, trace, &err), VS_OK);
    assert_int_equal(sum.peak.allocated, 8704);
    assert_int_equal(sum.peak.active, 8704);
    assert_int_equal(sum.peak.requested, 1000 + 4 + 1000 + 6000);
    assert_int_equal(sum.peak.reserved, 4194304);
    assert_int_equal(sum.peak.event, event);
    assert_int_equal(sum.peak.step, 1);
    assert_int_equal(sum.peak.phase, VS_PHASE_FORWARD);
    assert_true(sum.peak.is_recompute);
    location = rpl_trace_location(trace, sum.peak.location);
    assert_string_equal(rpl_trace_string(trace, location->module), "layer1");
    assert_string_equal(rpl_trace_string(trace, location->op), "relu");
    assert_int_equal(location->line, 25);
    rpl_summary_release(&sum);
    rpl_trace_free(trace);
}

static void categories_add_up_to_the_peak(void **state)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    uint64_t event;
    uint64_t total = 0;
    struct rpl_trace *trace = example(&event);

    (void)state;
    assert_int_equal(rpl_summary_fill(&sum, trace, &err), VS_OK);
    assert_int_equal(sum.peak.by_category[VS_CAT_PARAMETER], 1024);
    assert_int_equal(sum.peak.by_category[VS_CAT_GRADIENT], 1024);
    assert_int_equal(sum.peak.by_category[VS_CAT_TEMPORARY], 512 + 3072);
    assert_int_equal(sum.peak.by_category[VS_CAT_ACTIVATION], 3072);
    assert_int_equal(sum.peak.by_category[VS_CAT_SAVED], 0);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        total += sum.peak.by_category[i];
    assert_int_equal(total, sum.peak.allocated);
    rpl_summary_release(&sum);
    rpl_trace_free(trace);
}

static void phases_have_their_ends_and_peaks(void **state)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    uint64_t event;
    struct rpl_trace *trace = example(&event);
    const struct rpl_phase *p;

    (void)state;
    assert_int_equal(rpl_summary_fill(&sum, trace, &err), VS_OK);
    assert_int_equal(sum.step_count, 3);
    assert_int_equal(sum.steps[0].step, -1);
    assert_int_equal(sum.steps[0].phase_count, 1);
    assert_int_equal(sum.steps[0].phases[0].allocated_end, 1024);
    p = sum.steps[1].phases;
    assert_int_equal(sum.steps[1].phase_count, 3);
    assert_int_equal(p[0].phase, VS_PHASE_FORWARD);
    assert_int_equal(p[0].allocated_peak, 6144);
    assert_int_equal(p[0].allocated_end, 3072);
    assert_int_equal(p[0].requested_end, 3000);
    assert_int_equal(p[1].phase, VS_PHASE_LOSS);
    assert_int_equal(p[1].allocated_peak, 3584);
    assert_int_equal(p[2].allocated_peak, 4608);
    assert_int_equal(p[2].allocated_end, 2560);
    assert_int_equal(p[2].reserved_end, 2097152);
    assert_true(sum.steps[1].loss == 2.5);
    assert_true(sum.steps[2].loss != sum.steps[2].loss);
    rpl_summary_release(&sum);
    rpl_trace_free(trace);
}

static void saved_memory_counts_each_storage_once_and_parameters_separately(void **state)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    uint64_t event;
    struct rpl_trace *trace = example(&event);

    (void)state;
    assert_int_equal(rpl_summary_fill(&sum, trace, &err), VS_OK);
    /*
     * when the loss of step 0 ended: the parameter, and the activation twice; step 1 has a forward that no backward
     * follows
     */
    assert_int_equal(sum.saved.tensors, 1);
    assert_int_equal(sum.saved.bytes, 2000);
    assert_int_equal(sum.saved.bytes_all, 3000);
    assert_int_equal(sum.parameters, 250);
    rpl_summary_release(&sum);
    rpl_trace_free(trace);
}

static void saved_memory_is_taken_at_the_end_of_the_last_loss(void **state)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct make m;

    (void)state;
    make_init(&m);
    make_step(&m, 0);
    make_phase(&m, VS_PHASE_FORWARD);
    make_alloc(&m, 2000, VS_CAT_SAVED);
    make_save(&m, VS_EV_SAVE, 1, 1, false);
    make_alloc(&m, 600, VS_CAT_INPUT);
    make_save(&m, VS_EV_SAVE, 2, 1, false);
    make_phase(&m, VS_PHASE_LOSS);
    make_save(&m, VS_EV_SAVE, 1, 2, true);
    make_phase(&m, VS_PHASE_BACKWARD);
    make_save(&m, VS_EV_UNSAVE, 1, 1, false);
    make_save(&m, VS_EV_UNSAVE, 1, 2, true);
    assert_int_equal(rpl_summary_fill(&sum, m.trace, &err), VS_OK);
    assert_int_equal(sum.saved.tensors, 1);
    assert_int_equal(sum.saved.bytes, 2000);
    assert_int_equal(sum.saved.bytes_all, 2600);
    assert_true(sum.saved.is_at_loss);
    rpl_summary_release(&sum);
    rpl_trace_free(m.trace);
}

static void recomputed_ops_and_flops_are_counted_without_detach(void **state)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    uint64_t event;
    struct rpl_trace *trace = example(&event);

    (void)state;
    assert_int_equal(rpl_summary_fill(&sum, trace, &err), VS_OK);
    assert_int_equal(sum.steps[1].recomputed_ops, 0);
    assert_int_equal(sum.steps[2].recomputed_ops, 1);
    assert_int_equal(sum.flops, 75);
    assert_int_equal(sum.recompute_flops, 70);
    rpl_summary_release(&sum);
    rpl_trace_free(trace);
}

static void the_last_noted_count_of_recomputed_ops_is_that_of_later_steps(void **state)
{
    static const char *const NOTES[] = {"7", "7,9", "7,9,11"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct rpl_summary sum = {.events = 0};
        struct vs_error err = VS_ERROR_INIT;
        uint64_t event;
        struct rpl_trace *trace = example(&event);

        rpl_trace_set_meta(trace, "recomputed_ops", NOTES[i]);
        assert_int_equal(rpl_summary_fill(&sum, trace, &err), VS_OK);
        assert_int_equal(sum.steps[1].step, 0);
        assert_int_equal(sum.steps[1].recomputed_ops, 7);
        assert_int_equal(sum.steps[2].recomputed_ops, i ? 9 : 7);
        rpl_summary_release(&sum);
        rpl_trace_free(trace);
    }
}

static void the_end_of_the_trace_has_the_final_totals(void **state)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    uint64_t event;
    struct rpl_trace *trace = example(&event);

    (void)state;
    assert_int_equal(rpl_summary_fill(&sum, trace, &err), VS_OK);
    assert_int_equal(sum.end_allocated, 2560);
    assert_int_equal(sum.end_blocks, 3);
    assert_int_equal(sum.end_reserved, 2097152);
    assert_int_equal(sum.end_segments, 1);
    assert_int_equal(sum.alloc_events, 14);
    rpl_summary_release(&sum);
    rpl_trace_free(trace);
}

static void repeated_parts_of_a_phase_are_summarized_as_one(void **state)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct make m;

    (void)state;
    make_init(&m);
    make_step(&m, 0);
    make_phase(&m, VS_PHASE_FORWARD);
    make_alloc(&m, 5120, VS_CAT_ACTIVATION);
    make_phase(&m, VS_PHASE_BACKWARD);
    make_free(&m, 1, 5120);
    make_phase(&m, VS_PHASE_FORWARD);
    make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    make_phase(&m, VS_PHASE_BACKWARD);
    assert_int_equal(rpl_summary_fill(&sum, m.trace, &err), VS_OK);
    assert_int_equal(sum.steps[0].phase_count, 2);
    assert_int_equal(sum.steps[0].phases[0].allocated_peak, 5120);
    assert_int_equal(sum.steps[0].phases[0].allocated_end, 1024);
    assert_int_equal(sum.steps[0].phases[1].allocated_peak, 5120);
    assert_int_equal(sum.steps[0].phases[1].allocated_end, 1024);
    rpl_summary_release(&sum);
    rpl_trace_free(m.trace);
}

static void the_first_out_of_memory_is_kept(void **state)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct make m;
    uint64_t event;

    (void)state;
    make_init(&m);
    make_segment(&m, VS_EV_SEGMENT_ALLOC, 2097152);
    make_alloc(&m, 1024, VS_CAT_ACTIVATION);
    event = make_event(&m, (struct vs_event){.kind = VS_EV_OOM,
                                             .oom = {.requested_bytes = 9000,
                                                     .segment_bytes = 20971520,
                                                     .device_free_bytes = 77}});
    make_event(&m, (struct vs_event){
                       .kind = VS_EV_OOM,
                       .oom = {.requested_bytes = 1, .segment_bytes = 2, .device_free_bytes = 3}});
    assert_int_equal(rpl_summary_fill(&sum, m.trace, &err), VS_OK);
    assert_int_equal(sum.oom.event, event);
    assert_int_equal(sum.oom.requested, 9000);
    assert_int_equal(sum.oom.segment, 20971520);
    assert_int_equal(sum.oom.device_free, 77);
    assert_int_equal(sum.oom.allocated, 1024);
    assert_int_equal(sum.oom.reserved, 2097152);
    rpl_summary_release(&sum);
    rpl_trace_free(m.trace);
}

static void an_empty_trace_has_no_peak(void **state)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = rpl_trace_new();

    (void)state;
    assert_int_equal(rpl_summary_fill(&sum, trace, &err), VS_OK);
    assert_int_equal(sum.peak.event, 0);
    assert_int_equal(sum.step_count, 0);
    rpl_summary_release(&sum);
    rpl_trace_free(trace);
}

static void an_impossible_event_is_reported_as_damage(void **state)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct make m;

    (void)state;
    make_init(&m);
    make_free(&m, 5, 100);
    assert_int_equal(rpl_summary_fill(&sum, m.trace, &err), VS_E_DAMAGED);
    rpl_summary_release(&sum);
    rpl_trace_free(m.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_is_the_first_highest_point_with_its_location),
        cmocka_unit_test(categories_add_up_to_the_peak),
        cmocka_unit_test(phases_have_their_ends_and_peaks),
        cmocka_unit_test(saved_memory_counts_each_storage_once_and_parameters_separately),
        cmocka_unit_test(saved_memory_is_taken_at_the_end_of_the_last_loss),
        cmocka_unit_test(recomputed_ops_and_flops_are_counted_without_detach),
        cmocka_unit_test(the_last_noted_count_of_recomputed_ops_is_that_of_later_steps),
        cmocka_unit_test(the_end_of_the_trace_has_the_final_totals),
        cmocka_unit_test(repeated_parts_of_a_phase_are_summarized_as_one),
        cmocka_unit_test(the_first_out_of_memory_is_kept),
        cmocka_unit_test(an_empty_trace_has_no_peak),
        cmocka_unit_test(an_impossible_event_is_reported_as_damage),
    };

    return cmocka_run_group_tests_name("replay/summary", tests, NULL, NULL);
}
