/*
 * tests/replay/report/test_mistakes.c - likely mistakes of a program: what was found while it ran, memory that no op
 * reads, and memory in pieces. tests/programs/faults has real programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "replay/report/mistakes.h"
#include "replay/report/report.h"
#include "tests/replay/make_trace.h"

#define MIB (UINT64_C(1) << 20)

/* An observed program; names are of train.py. */
static void begin(struct make *m)
{
    make_init(m);
    rpl_trace_set_meta(m->trace, "source_kind", "program");
    rpl_trace_set_meta(m->trace, "observed", "9");
    rpl_trace_set_meta(m->trace, "observed_of", "9");
    rpl_trace_set_meta(m->trace, "observed_between", "1");
    m->func = "train.py:main";
}

static uint64_t block(struct make *m, uint32_t line, uint64_t bytes, enum vs_category category)
{
    m->line = line;
    (void)make_alloc(m, bytes, category);
    return m->blocks;
}

/* The part of the report. The trace is freed. */
static char *text_of(struct make *m)
{
    struct rpl_mistakes mistakes = {.count = 0};
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    char *copy;

    if (rpl_summary_fill(&sum, m->trace, &err) ||
        rpl_mistakes_fill(&mistakes, m->trace, &sum, &err))
        fail_msg("%s", err.text);
    rpl_mistakes_text(&mistakes, &text);
    copy = strdup(vs_text_get(&text));
    rpl_mistakes_release(&mistakes);
    rpl_summary_release(&sum);
    vs_text_release(&text);
    rpl_trace_free(m->trace);
    return copy;
}

static void expect(struct make *m, const char *words)
{
    char *text = text_of(m);

    if (words ? !strstr(text, words) : *text)
        fail_msg("`%s` is not in: %s", words ? words : "nothing", text);
    free(text);
}

static void what_was_found_while_it_ran_is_listed_by_bytes(void **state)
{
    struct make m;
    char *text;

    (void)state;
    begin(&m);
    (void)block(&m, 1, 512, VS_CAT_OTHER);
    rpl_trace_set_meta(
        m.trace, "mistakes",
        "leak|5|a.py:1 a.py:2|`x` grows\nview|7|b.py:3|a view\nof another form\n|||");
    text = text_of(&m);
    assert_string_equal(text, "\nLikely mistakes\n"
                              "  b.py:3  view\n    a view\n"
                              "  a.py:1 a.py:2  leak\n    `x` grows\n");
    free(text);
}

/* The set-up and steps that leave nothing behind, of a program in which a mistake of this kind was found. */
static char *leak_text_of(const char *mistake, int steps)
{
    struct rpl_report report = {.trace = NULL};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    char *copy;
    struct make m;

    begin(&m);
    rpl_trace_set_meta(m.trace, "mistakes", mistake);
    for (int step = -1; step < steps; step++) {
        (void)make_step(&m, step);
        (void)block(&m, 7, 512, VS_CAT_ACTIVATION);
        (void)make_free(&m, m.blocks, 512);
    }
    if (rpl_report_fill(&report, m.trace, 1, &err))
        fail_msg("%s", err.text);
    rpl_report_text(&report, "t.db", &text);
    copy = strdup(vs_text_get(&text));
    rpl_report_release(&report);
    vs_text_release(&text);
    rpl_trace_free(m.trace);
    return copy;
}

static void a_report_that_names_a_leak_does_not_deny_it_below(void **state)
{
    static const char *const GROW[] = {"leak|5|a.py:1|`x` grows", "history|5|a.py:1|`x` grows",
                                       "cycle|5|a.py:1|a cycle"};
    char *text;

    (void)state;
    for (size_t i = 0; i < sizeof(GROW) / sizeof(GROW[0]); i++) {
        text = leak_text_of(GROW[i], 6);
        assert_null(strstr(text, "No leak"));
        assert_non_null(strstr(text, "\nLeak: a likely mistake above says what grows; at the end"));
        free(text);
        /* too few steps to say anything of their ends */
        text = leak_text_of(GROW[i], 2);
        assert_non_null(strstr(text, "\nLeak: a likely mistake above says what grows.\n"));
        free(text);
    }
    text = leak_text_of("view|5|a.py:1|a view", 6);
    assert_non_null(strstr(text, "\nNo leak: "));
    free(text);
}

/* A step that uses the model's 8 MiB, and a copy of it that line 5 made in the set-up; `is_read`: the step reads it. */
static void copy_make(struct make *m, bool is_read)
{
    uint64_t model;
    uint64_t copy;

    begin(m);
    model = block(m, 4, 8 * MIB, VS_CAT_PARAMETER);
    copy = block(m, 5, 8 * MIB, VS_CAT_OTHER);
    for (int step = 0; step < 3; step++) {
        uint64_t activation;

        (void)make_step(m, step);
        (void)make_phase(m, VS_PHASE_FORWARD);
        activation = block(m, 9, 4 * MIB, VS_CAT_ACTIVATION);
        (void)make_use(m, model);
        (void)make_use(m, activation);
        if (is_read)
            (void)make_use(m, copy);
        (void)make_free(m, activation, 4 * MIB);
    }
}

static void memory_that_no_step_reads_is_named_by_its_line(void **state)
{
    struct make m;

    (void)state;
    copy_make(&m, false);
    expect(&m, "  train.py:5  unused\n    8.0 MiB of this line");
    copy_make(&m, true);
    expect(&m, NULL);
}

/* Steps that keep 8 MiB each, in a list that was seen to grow. */
static void unused_memory_of_many_steps_is_said_to_be_the_leak(void **state)
{
    struct make m;

    (void)state;
    begin(&m);
    rpl_trace_set_meta(m.trace, "mistakes", "leak|0|train.py:7 train.py:8|`x` grows");
    for (int step = 0; step < 6; step++) {
        (void)make_step(&m, step);
        (void)make_phase(&m, VS_PHASE_FORWARD);
        (void)make_use(&m, block(&m, 6, 8 * MIB, VS_CAT_ACTIVATION));
    }
    expect(&m, "32.0 MiB of this line are alive at the peak, and no op reads them since, except to "
               "copy; 4 steps\n"
               "    allocated them: they are probably what the leak of train.py:7 keeps\n");
}

static void a_net_and_a_program_that_was_not_observed_have_none(void **state)
{
    struct make m;

    (void)state;
    copy_make(&m, false);
    rpl_trace_set_meta(m.trace, "source_kind", "net");
    expect(&m, NULL);
    copy_make(&m, false);
    rpl_trace_set_meta(m.trace, "observed_between", "0");
    expect(&m, NULL);
}

/* Six blocks of line 8, which are freed again; `step`: how much larger each is; and 100 MiB of segments. */
static void sizes_make(struct make *m, uint64_t step)
{
    begin(m);
    (void)make_segment(m, VS_EV_SEGMENT_ALLOC, 100 * MIB);
    for (uint64_t i = 0; i < 6; i++) {
        const uint64_t id = block(m, 8, 4 * MIB + i * step, VS_CAT_ACTIVATION);

        (void)make_use(m, id);
        (void)make_free(m, id, 4 * MIB + i * step);
    }
}

static void the_first_line_whose_sizes_vary_is_named_where_memory_is_in_pieces(void **state)
{
    struct make m;

    (void)state;
    sizes_make(&m, MIB);
    expect(&m, "  train.py:8  fragmentation\n");
    sizes_make(&m, 0);
    expect(&m, NULL);
}

/* A damaged file may have any numbers: memory follows from how many blocks there are. */
static void blocks_may_have_any_numbers(void **state)
{
    struct make m;

    (void)state;
    begin(&m);
    m.blocks = UINT64_C(1) << 60;
    (void)make_segment(&m, VS_EV_SEGMENT_ALLOC, 100 * MIB);
    for (uint64_t i = 0; i < 6; i++) {
        const uint64_t id = block(&m, 8, (4 + i) * MIB, VS_CAT_ACTIVATION);

        (void)make_use(&m, id);
        (void)make_free(&m, id, (4 + i) * MIB);
    }
    expect(&m, "  train.py:8  fragmentation\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_found_while_it_ran_is_listed_by_bytes),
        cmocka_unit_test(a_report_that_names_a_leak_does_not_deny_it_below),
        cmocka_unit_test(memory_that_no_step_reads_is_named_by_its_line),
        cmocka_unit_test(unused_memory_of_many_steps_is_said_to_be_the_leak),
        cmocka_unit_test(a_net_and_a_program_that_was_not_observed_have_none),
        cmocka_unit_test(the_first_line_whose_sizes_vary_is_named_where_memory_is_in_pieces),
        cmocka_unit_test(blocks_may_have_any_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
