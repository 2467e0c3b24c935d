/*
 * tests/replay/inspect/test_leak.c - blocks that training steps leak.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/inspect/alive.h"
#include "tests/replay/make_trace.h"

/*
 * `steps` steps. Each allocates an output of 1024 bytes that the next step replaces, and leaks 512 bytes if `leaks`;
 * the first step also allocates 2048 bytes of optimizer state.
 */
static struct rpl_trace *loop(int64_t steps, bool leaks)
{
    struct make m;
    uint64_t output = 0;

    make_init(&m);
    make_step(&m, -1);
    make_alloc(&m, 4096, VS_CAT_PARAMETER);
    for (int64_t step = 0; step < steps; step++) {
        make_step(&m, step);
        make_alloc(&m, 1024, VS_CAT_ACTIVATION);
        if (output)
            make_free(&m, output, 1024);
        output = m.blocks;
        if (step == 0)
            make_alloc(&m, 2048, VS_CAT_OPTIMIZER);
        m.line = 7;
        if (leaks)
            make_alloc(&m, 512, VS_CAT_SAVED);
        make_phase(&m, VS_PHASE_ZERO_GRAD);
    }
    return m.trace;
}

/* `steps` steps, the second of which allocates 512 bytes that stay. */
static struct rpl_trace *late_loop(int64_t steps)
{
    struct make m;

    make_init(&m);
    make_step(&m, -1);
    make_alloc(&m, 4096, VS_CAT_PARAMETER);
    for (int64_t step = 0; step < steps; step++) {
        make_step(&m, step);
        m.line = 5;
        make_alloc(&m, 1024, VS_CAT_ACTIVATION);
        m.line = 7;
        if (step == 1)
            make_alloc(&m, 512, VS_CAT_ACTIVATION);
        make_free(&m, step == 1 ? m.blocks - 1 : m.blocks, 1024);
        make_phase(&m, VS_PHASE_ZERO_GRAD);
    }
    return m.trace;
}

static struct rpl_leak leak_of(struct rpl_trace *trace)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_index *index;
    struct rpl_leak leak;

    assert_int_equal(rpl_index_open(trace, NULL, NULL, &index, &err), VS_OK);
    assert_int_equal(rpl_alive_leak(index, &leak, &err), VS_OK);
    rpl_index_free(index);
    return leak;
}

static void a_loop_with_constant_memory_has_no_leak(void **state)
{
    struct rpl_trace *trace = loop(5, false);
    struct rpl_leak leak = leak_of(trace);

    (void)state;
    assert_int_equal(leak.at, rpl_trace_event_count(trace));
    assert_int_equal(leak.count, 0);
    assert_int_equal(leak.bytes, 0);
    rpl_trace_free(trace);
}

static void memory_that_every_step_keeps_is_a_leak_with_its_line(void **state)
{
    struct rpl_trace *trace = loop(5, true);
    struct rpl_leak leak = leak_of(trace);

    (void)state;
    /* steps 1, 2 and 3 of 0 … 4 */
    assert_int_equal(leak.steps, 3);
    assert_int_equal(leak.count, 3);
    assert_int_equal(leak.bytes, 3 * 512);
    assert_int_equal(leak.block_count, 3);
    assert_int_equal(rpl_trace_location(trace, leak.blocks[0].alloc_location)->line, 7);
    rpl_trace_free(trace);
}

/*
 * A program frees its variables before its recording ends, which is in its last step. What is free in a snapshot was
 * freed while the program ran.
 */
static void what_a_program_frees_at_its_end_leaked_until_then(void **state)
{
    static const struct {
        const char *kind;
        bool is_recorded;
    } TRACES[] = {{NULL, false}, {"imported", false}, {"imported", true}, {"program", true}};

    (void)state;
    for (size_t i = 0; i < sizeof(TRACES) / sizeof(TRACES[0]); i++) {
        const bool is_program = TRACES[i].is_recorded;
        struct make m;
        struct rpl_leak leak;

        make_init(&m);
        if (TRACES[i].kind)
            rpl_trace_set_meta(m.trace, "source_kind", TRACES[i].kind);
        if (is_program)
            rpl_trace_set_meta(m.trace, "dumped", "exit");
        make_step(&m, -1);
        make_alloc(&m, 4096, VS_CAT_PARAMETER);
        for (int64_t step = 0; step < 6; step++) {
            make_step(&m, step);
            m.line = 7;
            make_alloc(&m, 512, VS_CAT_SAVED);
            make_phase(&m, VS_PHASE_ZERO_GRAD);
        }
        for (uint64_t block = 2; block <= 7; block++)
            make_free(&m, block, 512);
        leak = leak_of(m.trace);
        assert_int_equal(leak.count, is_program ? 3 : 0); /* of steps 1, 2 and 3 */
        assert_int_equal(leak.steps, is_program ? 3 : 4);
        assert_int_equal(leak.bytes, is_program ? 3 * 512 : 0);
        rpl_trace_free(m.trace);
    }
}

static void memory_that_one_step_allocates_late_is_no_leak(void **state)
{
    (void)state;
    for (int64_t steps = 3; steps < 6; steps++) {
        struct rpl_trace *trace = late_loop(steps);
        struct rpl_leak leak = leak_of(trace);

        assert_int_not_equal(leak.at, 0);
        assert_int_equal(leak.count, 0);
        rpl_trace_free(trace);
    }
}

static void two_steps_are_too_few_to_find_leaks(void **state)
{
    struct rpl_trace *trace = loop(2, true);
    struct rpl_leak leak = leak_of(trace);

    (void)state;
    assert_int_equal(leak.at, 0);
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_with_constant_memory_has_no_leak),
        cmocka_unit_test(memory_that_every_step_keeps_is_a_leak_with_its_line),
        cmocka_unit_test(what_a_program_frees_at_its_end_leaked_until_then),
        cmocka_unit_test(memory_that_one_step_allocates_late_is_no_leak),
        cmocka_unit_test(two_steps_are_too_few_to_find_leaks),
    };

    return cmocka_run_group_tests_name("replay/leak", tests, NULL, NULL);
}
