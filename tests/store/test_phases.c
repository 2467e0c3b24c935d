/*
 * tests/store/test_phases.c - steps and phases compared with a naive model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/phases.h"
#include "tests/store/sample_events.h"

#define COUNT 3000

/* Random events that never free more than there is. */
static void events_make(struct sample_random *rnd, struct vs_event *out)
{
    uint64_t live = 0;
    uint64_t segments = 0;
    uint64_t step = 0;

    for (size_t i = 0; i < COUNT; i++) {
        uint64_t n = 512 * (1 + sample_random_below(rnd, 9));

        switch (sample_random_below(rnd, 30)) {
        case 0:
            out[i] = (struct vs_event){.kind = VS_EV_STEP, .step = {.number_plus_one = ++step}};
            break;
        case 1:
        case 2:
            out[i] = (struct vs_event){
                .kind = VS_EV_PHASE, .phase = {.phase = sample_random_below(rnd, VS_PHASE_COUNT)}};
            break;
        case 3:
            out[i] = (struct vs_event){.kind = VS_EV_SEGMENT_MAP, .segment = {.bytes = n}};
            segments += n;
            break;
        case 4:
            n = n < segments ? n : segments;
            out[i] = (struct vs_event){.kind = VS_EV_SEGMENT_FREE, .segment = {.bytes = n}};
            segments -= n;
            break;
        case 5:
            out[i] = (struct vs_event){.kind = VS_EV_HOLD, .hold = {.tensor = n, .name = n}};
            break;
        default:
            if (live > 20 * 4608 || (live >= n && sample_random_below(rnd, 2))) {
                out[i] = (struct vs_event){.kind = VS_EV_FREE,
                                           .free = {.requested_bytes = n / 2, .block_bytes = n}};
                live -= n;
            } else {
                out[i] = (struct vs_event){.kind = VS_EV_ALLOC,
                                           .alloc = {.requested_bytes = n / 2, .block_bytes = n}};
                live += n;
            }
            break;
        }
    }
}

/* What the events first … last of a stretch add up to, counted from the very first event. */
static void stat_check(const struct vs_event *events, const struct sto_phase_stat *s)
{
    struct sto_phase_stat want = {
        .first_seq = s->first_seq, .last_seq = s->last_seq, .peak_seq = s->first_seq};
    uint64_t allocated = 0, requested = 0, reserved = 0;
    int64_t step = -1;

    for (uint64_t seq = 1; seq <= s->last_seq; seq++) {
        const struct vs_event *e = &events[seq - 1];

        if (seq == s->first_seq) {
            want.allocated_peak = allocated;
            want.requested_peak = requested;
            want.reserved_peak = reserved;
        }
        allocated += e->kind == VS_EV_ALLOC ? e->alloc.block_bytes : 0;
        allocated -= e->kind == VS_EV_FREE ? e->free.block_bytes : 0;
        requested += e->kind == VS_EV_ALLOC ? e->alloc.requested_bytes : 0;
        requested -= e->kind == VS_EV_FREE ? e->free.requested_bytes : 0;
        reserved += e->kind == VS_EV_SEGMENT_MAP ? e->segment.bytes : 0;
        reserved -= e->kind == VS_EV_SEGMENT_FREE ? e->segment.bytes : 0;
        step = e->kind == VS_EV_STEP ? vs_event_step(e) : step;
        want.phase = e->kind == VS_EV_PHASE ? (enum vs_phase)e->phase.phase : want.phase;
        if (seq >= s->first_seq && allocated > want.allocated_peak) {
            want.allocated_peak = allocated;
            want.peak_seq = seq;
        }
        if (seq >= s->first_seq && requested > want.requested_peak)
            want.requested_peak = requested;
        if (seq >= s->first_seq && reserved > want.reserved_peak)
            want.reserved_peak = reserved;
    }
    assert_int_equal(s->step, step);
    assert_int_equal(s->phase, want.phase);
    assert_int_equal(s->allocated_end, allocated);
    assert_int_equal(s->allocated_peak, want.allocated_peak);
    assert_int_equal(s->requested_end, requested);
    assert_int_equal(s->requested_peak, want.requested_peak);
    assert_int_equal(s->reserved_end, reserved);
    assert_int_equal(s->reserved_peak, want.reserved_peak);
    assert_int_equal(s->peak_seq, want.peak_seq);
}

static void phase_intervals_and_steps_are_contiguous_and_add_up(void **state)
{
    struct sample_random rnd = {3};
    struct vs_event *events = vs_alloc(COUNT * sizeof(*events));

    (void)state;
    for (int round = 0; round < 5; round++) {
        struct sto_phases p;
        uint64_t next_stat = 1;
        uint64_t next_step = 1;

        events_make(&rnd, events);
        sto_phases_init(&p, 1);
        for (uint64_t seq = 1; seq <= COUNT; seq++) {
            const struct vs_event *e = &events[seq - 1];
            struct sto_phases_ended ended;

            if (!sto_phases_is_border((enum vs_event_kind)e->kind)) {
                sto_phases_count(&p, seq, e);
                continue;
            }
            sto_phases_border(&p, seq, e, &ended);
            if (ended.has_stat) {
                assert_int_equal(ended.stat.first_seq, next_stat);
                stat_check(events, &ended.stat);
                next_stat = ended.stat.last_seq + 1;
            }
            if (ended.has_step) {
                assert_int_equal(ended.step.first_seq, next_step);
                assert_int_equal(ended.step.last_seq, seq - 1);
                next_step = seq;
            }
        }
        assert_int_equal(p.stat.first_seq, next_stat);
        assert_int_equal(p.stat.last_seq, COUNT);
        stat_check(events, &p.stat);
        assert_int_equal(p.step.first_seq, next_step);
    }
    vs_free(events);
}

static void a_trace_that_begins_in_the_middle_never_counts_below_zero(void **state)
{
    struct sto_phases p;

    (void)state;
    sto_phases_init(&p, 1);
    sto_phases_count(&p, 1,
                     &(struct vs_event){.kind = VS_EV_FREE,
                                        .free = {.requested_bytes = 100, .block_bytes = 512}});
    sto_phases_count(&p, 2,
                     &(struct vs_event){.kind = VS_EV_SEGMENT_UNMAP, .segment = {.bytes = 4096}});
    assert_int_equal(p.stat.allocated_end, 0);
    assert_int_equal(p.stat.requested_end, 0);
    assert_int_equal(p.stat.reserved_end, 0);
    sto_phases_count(&p, 3,
                     &(struct vs_event){.kind = VS_EV_ALLOC,
                                        .alloc = {.requested_bytes = 100, .block_bytes = 512}});
    assert_int_equal(p.stat.allocated_end, 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phase_intervals_and_steps_are_contiguous_and_add_up),
        cmocka_unit_test(a_trace_that_begins_in_the_middle_never_counts_below_zero),
    };

    return cmocka_run_group_tests_name("store/phases", tests, NULL, NULL);
}
